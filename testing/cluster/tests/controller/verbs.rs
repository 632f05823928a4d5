//! Each verb that `deploy/rbac.yaml` allows is used, and missed by name.

use std::{collections::BTreeSet, fs};

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::{Api, api::PostParams};
use portcullis_cluster_testing::rights::{self, Right};
use portcullis_golang::Module;

use crate::{
    site::route,
    stage::{CONTROLLER, Stage, eventually, status},
};

/// The name of the role that is the whole cluster's, and of the controller's namespace.
const PORTCULLIS: &str = "portcullis";

/// The one about the Lease.
const LEADER: &str = "portcullis-leader";

/// What lets every ServiceAccount read ClusterTrustBundles; an API server makes it anew when it starts.
const EVERYBODYS: &str = "system:cluster-trust-bundle-discovery";

/// In `verbs.yaml`, what refers to the Service or the Gateway.
const REFERRERS: [(&str, &str); 7] = [
    ("HTTPRoute", "http"),
    ("GRPCRoute", "grpc"),
    ("TLSRoute", "tls"),
    ("TCPRoute", "tcp"),
    ("UDPRoute", "udp"),
    ("ListenerSet", "more"),
    ("BackendTLSPolicy", "to-echo"),
];

/// In a status that we have written; the API server's default has no condition of a generation.
const JUDGED: &str = "observedGeneration";

/// Without a verb, for all resources at once, the controller warns of each that it misses, and runs on; once the verb
/// is back, it goes on by itself. All in all it has used every right that it has.
#[tokio::test(flavor = "multi_thread")]
async fn every_verb_of_every_resource_is_used_and_missed_by_name() {
    let Some(mut stage) = Stage::start("verbs").await else { return };
    let backends = Module::envoy_gateway_crd("backends").unwrap();
    stage.cluster.apply(&fs::read_to_string(backends).unwrap()).unwrap();
    stage.serve_site().await;
    let exempt = exempt(&stage).await;
    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    let whole = roles.get(PORTCULLIS).await.unwrap();
    for verb in ["watch", "list", "get", "update", "create", "patch", "delete"] {
        if verb == "list" {
            stage.cluster.restart_apiserver_without_streamed_lists().await.unwrap();
        }
        let rules = whole.rules.clone().unwrap();
        let missed: BTreeSet<Right> = rules
            .iter()
            .flat_map(rights::of_rule)
            .filter(|right| right.verb == verb && !exempt(right))
            .collect();
        let before = stage.log(CONTROLLER).len();
        stage.kubectl(&["delete", "clusterrolebinding", EVERYBODYS, "--ignore-not-found"]);
        replace(&roles, &ClusterRole { rules: Some(without(&rules, verb)), ..whole.clone() }).await;
        // Anew, for it tells again and again of nothing.
        assert!(stage.cluster.terminate(CONTROLLER), "it has ended by itself");
        stage.start_controller();
        if !["watch", "list"].contains(&verb) {
            says(&stage, before, "this controller leads").await;
            says(&stage, before, "the cluster is read").await;
        }
        give_occasions(&stage, verb).await;
        warns_of(&stage, before, &missed).await;
        replace(&roles, &whole).await;
        let name = format!("after-{verb}");
        stage.cluster.apply(&route(&name, &format!("{name}.example"))).unwrap();
        stage.accepted("site", &name).await;
    }
    the_lease_is_missed(&mut stage).await;
    let all_used = async || {
        let mut unused = rights::unused(&stage.cluster.log("audit").unwrap()).unwrap();
        unused.retain(|right| !exempt(right));
        unused.is_empty().then_some(())
    };
    eventually("every right is used", all_used).await;
}

/// What nothing here makes the controller do: a race alone gives occasion to read a namespace, when the watch that
/// tells of a new one is later than that which tells of its first route; and routes that it does not serve get no
/// status.
async fn exempt(stage: &Stage) -> impl Fn(&Right) -> bool + use<> {
    let class = stage.objects("v1", "GatewayClass", "").get(PORTCULLIS).await.unwrap();
    let features = status(&class)["supportedFeatures"].as_array().unwrap();
    let features: Vec<String> =
        features.iter().map(|feature| feature["name"].as_str().unwrap().to_lowercase()).collect();
    move |right| {
        let route = right.resource.strip_suffix("s/status").filter(|kind| kind.ends_with("route"));
        let is_unserved = route.is_some_and(|kind| !features.iter().any(|feature| feature == kind));
        is_unserved || right.to_string() == "get namespaces"
    }
}

/// Without a right to the Lease nothing is written, and the warning says why.
async fn the_lease_is_missed(stage: &mut Stage) {
    let roles: Api<Role> = Api::namespaced(stage.client.clone(), PORTCULLIS);
    let whole = roles.get(LEADER).await.unwrap();
    let rules = whole.rules.clone().unwrap();
    for right in rules.iter().flat_map(rights::of_rule) {
        assert!(stage.cluster.terminate(CONTROLLER), "it has ended by itself");
        if right.verb == "create" {
            stage.kubectl(&["delete", "lease", PORTCULLIS, "--namespace", PORTCULLIS]);
        }
        let mut less = Role { rules: Some(without(&rules, &right.verb)), ..whole.clone() };
        less.metadata.resource_version = None;
        roles.replace(LEADER, &PostParams::default(), &less).await.unwrap();
        let before = stage.log(CONTROLLER).len();
        stage.start_controller();
        warns_of(stage, before, &BTreeSet::from([right])).await;
        let mut whole = whole.clone();
        whole.metadata.resource_version = None;
        roles.replace(LEADER, &PostParams::default(), &whole).await.unwrap();
        says(stage, before, "this controller leads").await;
    }
}

fn without(rules: &[PolicyRule], verb: &str) -> Vec<PolicyRule> {
    let mut less = rules.to_vec();
    less.iter_mut().for_each(|rule| rule.verbs.retain(|kept| kept != verb));
    less.retain(|rule| !rule.verbs.is_empty());
    less
}

async fn replace(roles: &Api<ClusterRole>, role: &ClusterRole) {
    let mut role = role.clone();
    role.metadata.resource_version = None;
    roles.replace(PORTCULLIS, &PostParams::default(), &role).await.unwrap();
}

/// Waits until the controller has said something since then.
async fn says(stage: &Stage, since: usize, what: &str) {
    let said = async || stage.log(CONTROLLER).split_off(since).contains(what).then_some(());
    eventually(what, said).await;
}

/// Waits until warnings since then name all these rights.
async fn warns_of(stage: &Stage, since: usize, missed: &BTreeSet<Right>) {
    for right in missed {
        let words =
            format!("cannot {} resource \"{}\" in API group \"{}\"", right.verb, right.resource, right.group);
        let is_named = || {
            let log = stage.log(CONTROLLER).split_off(since);
            log.lines().any(|line| line.contains(" WARN ") && line.contains(&words))
        };
        eventually(&format!("a warning: {words}"), async || is_named().then_some(())).await;
    }
}

/// Makes objects of every kind in a namespace, those that refer to others first: there is something to read and to
/// write of each. Who refers to what is then taken away is read again.
async fn give_occasions(stage: &Stage, verb: &str) {
    if verb == "delete" {
        // Its Service goes by us: the API server takes away what belonged to objects that are gone, and it is there.
        let other = r#"{"spec": {"gatewayClassName": "of-nobody"}}"#;
        return stage.kubectl(&[
            "patch",
            "gateway/web",
            "--namespace=update",
            "--type=merge",
            "--patch",
            other,
        ]);
    }
    stage.cluster.apply(&include_str!("verbs.yaml").replace("NAMESPACE", verb)).unwrap();
    if verb == "get" {
        // Of what has been taken away they are read again only once they have been understood.
        for (kind, name) in REFERRERS {
            let what = "judged with what may be read";
            stage.when(kind, verb, name, what, |status| status.to_string().contains(JUDGED)).await;
        }
        stage.kubectl(&["delete", "service/echo", "gateway/web", "--namespace", verb]);
    }
}
