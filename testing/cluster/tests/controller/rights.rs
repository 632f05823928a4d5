//! What the controller may do: what it lacks it names, and it asks for nothing else.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::{Api, api::PostParams};

use crate::{
    audit::Audit,
    site::{SITE, route},
    stage::{CONTROLLER, Stage, eventually},
};

/// Resources that nothing here makes the controller ask for: kinds that this cluster does not serve, or lets everybody
/// read, and statuses of kinds without objects.
const UNASKED: [&str; 9] = [
    "backends",
    "backendtlspolicies/status",
    "clustertrustbundles",
    "gatewayclasses/status",
    "grpcroutes/status",
    "listenersets/status",
    "tcproutes/status",
    "tlsroutes/status",
    "udproutes/status",
];

/// With the rights of `deploy/` nothing is refused. Without one of them the controller runs on and names it in a
/// warning; once it is back, it goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_taken_away_is_named_and_ends_nothing() {
    let Some(mut stage) = Stage::start("rights").await else { return };
    stage.serve_site().await;
    let mut refused = Audit::default().news(&stage.cluster);
    refused.retain(|asked| asked.code == 403);
    assert_eq!(refused, []);

    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    let whole = roles.get("portcullis").await.unwrap();
    for (turn, (rule, resource)) in rights(&whole).into_iter().enumerate() {
        assert!(stage.cluster.terminate(CONTROLLER), "it has ended by itself");
        replace(&roles, without(&whole, rule, &resource)).await;
        let before = stage.log(CONTROLLER).len();
        stage.start_controller();
        // There is something to write of each.
        stage.cluster.apply(&route("changing", &format!("{turn}.example"))).unwrap();
        let labelled = format!(r#"{{"spec": {{"infrastructure": {{"labels": {{"turn": "{turn}"}}}}}}}}"#);
        stage.kubectl(&["patch", "gateway/web", "--namespace", SITE, "--type=merge", "--patch", &labelled]);
        let delete = ["delete", "services,endpointslices", "--namespace", SITE, "--selector"];
        let of_gateway = "gateway.networking.k8s.io/gateway-name=web";
        assert!(stage.cluster.kubectl().args(delete).arg(of_gateway).status().unwrap().success());
        eventually(&format!("a warning that names {resource} of rule {rule}"), async || {
            let log = stage.log(CONTROLLER).split_off(before);
            log.lines().any(|line| names(line, &resource)).then_some(())
        })
        .await;
    }
    replace(&roles, whole).await;
    stage.attached(2).await;
    assert!(stage.cluster.terminate(CONTROLLER), "it has ended by itself");
}

/// Each resource of each rule, with the rule's place.
fn rights(role: &ClusterRole) -> Vec<(usize, String)> {
    let rules = role.rules.iter().flatten().enumerate();
    let all = rules.flat_map(|(place, rule)| {
        rule.resources.iter().flatten().map(move |resource| (place, resource.clone()))
    });
    all.filter(|(_, resource)| !UNASKED.contains(&resource.as_str())).collect()
}

fn without(role: &ClusterRole, rule: usize, resource: &str) -> ClusterRole {
    let mut less = role.clone();
    let rule = &mut less.rules.as_mut().unwrap()[rule];
    rule.resources.as_mut().unwrap().retain(|kept| kept != resource);
    if rule.resources.as_ref().unwrap().is_empty() {
        rule.verbs.clear();
        less.rules.as_mut().unwrap().retain(|rule| !rule.verbs.is_empty());
    }
    less
}

async fn replace(roles: &Api<ClusterRole>, mut role: ClusterRole) {
    role.metadata.resource_version = None;
    role.metadata.managed_fields = None;
    roles.replace("portcullis", &PostParams::default(), &role).await.unwrap();
}

/// Whether a line warns that access to a resource is refused.
fn names(line: &str, resource: &str) -> bool {
    line.contains(" WARN ") && line.contains(&format!("resource \"{resource}\""))
}
