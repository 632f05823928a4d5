//! CRDs under a running controller: older ones, newer ones, none.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use portcullis_cluster_testing::{Bundle, Channel};
use serde_json::{Value, json};

use crate::{
    client::{Visitor, get},
    site::{BYSTANDER, LISTENER_SET, SITE, route},
    stage::{CONTROLLER, Stage, condition, eventually, our_parent, status, verdict},
};

/// Releases between the oldest and the newest that are read, of either channel.
const BETWEEN: [(&str, Channel); 4] = [
    ("v1.4.1", Channel::Standard),
    ("v1.5.1", Channel::Standard),
    ("v1.6.3", Channel::Experimental),
    ("v1.7.0", Channel::Standard),
];

/// A release without the admission policy that would refuse to go back to it.
fn bundle(version: &str) -> Bundle {
    Bundle { version: version.to_owned(), channel: Channel::Experimental, safe_upgrades: false }
}

/// What v1.4 let through and v1.7.0 refuses: a header's value that begins a second header.
fn smuggler() -> String {
    route("smuggler", "smuggler.example").replace(
        "{backendRefs:",
        r#"{filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-a, value: "1\r\nx-b: 2"}]}}], backendRefs:"#,
    )
}

/// What today's admission refuses says so on itself, is not served, and harms nobody, whichever CRDs are
/// installed; when they change, kinds and versions are followed without a restart.
#[tokio::test(flavor = "multi_thread")]
async fn crds_come_go_and_change_and_what_they_let_through_before_is_refused() {
    let Some(mut stage) = Stage::prepare("definitions", Some(bundle("v1.4.0"))).await else { return };
    stage.start_controller();
    stage.cluster.await_class(CONTROLLER).await.unwrap();
    let address = stage.serve_site().await;
    stage.cluster.apply(&smuggler()).unwrap();
    is_refused(&stage, &address).await;

    stage.cluster.apply(ABROAD).unwrap();
    stage.cluster.apply(&grant("v1beta1")).unwrap();
    refers(&stage, "True").await;

    let visitor = Visitor::start(&address, BYSTANDER);
    for (version, channel) in BETWEEN {
        stage.cluster.install(&Bundle { channel, ..bundle(version) }).unwrap();
        let name = format!("under-{}", version.replace('.', "-"));
        stage.cluster.apply(&route(&name, "under.example")).unwrap();
        stage.accepted(SITE, &name).await;
        is_supported(&stage, "True").await;
    }
    stage.cluster.install(&bundle("v1.7.0")).unwrap();
    a_new_kind_and_a_new_version_are_followed(&stage).await;
    an_unknown_release_is_told_of(&stage).await;
    // Said under the older CRDs already; now it is to be written on an object that the newer ones would refuse.
    let routes = stage.objects("v1", "HTTPRoute", SITE);
    let nothing = Patch::Merge(json!({"status": {"parents": []}}));
    routes.patch_status("smuggler", &PatchParams::default(), &nothing).await.unwrap();
    is_refused(&stage, &address).await;
    let (wrong, right) = visitor.end().await;
    assert_eq!((wrong, right > 20), (Vec::new(), true), "{right} right answers");
    stage.cluster.apply(&route("smuggler", "mended.example")).unwrap();
    stage.accepted(SITE, "smuggler").await;

    stage.kubectl(&["delete", "crd", "httproutes.gateway.networking.k8s.io"]);
    answers(&address, 404).await;
    stage.cluster.install(&bundle("v1.7.0")).unwrap();
    stage.cluster.apply(&route("bystander", BYSTANDER)).unwrap();
    stage.accepted(SITE, "bystander").await;
    answers(&address, 200).await;
}

/// CRDs of a release that is not known, or that tell of none, are worked with, and the class says so.
async fn an_unknown_release_is_told_of(stage: &Stage) {
    for version in [json!("v2.0.0"), Value::Null] {
        annotate(stage, &version).await;
        is_supported(stage, "False").await;
    }
    annotate(stage, &json!("v1.7.0")).await;
    is_supported(stage, "True").await;
}

async fn annotate(stage: &Stage, version: &Value) {
    let patch = json!({"metadata": {"annotations": {"gateway.networking.k8s.io/bundle-version": version}}});
    let crds: Api<CustomResourceDefinition> = Api::all(stage.client.clone());
    let name = "gateways.gateway.networking.k8s.io";
    crds.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// Waits until the class says whether the release is supported; it stays accepted.
async fn is_supported(stage: &Stage, supported: &str) {
    let is_so = |status: &Value| {
        verdict(status, "SupportedVersion") == Some(supported) && verdict(status, "Accepted") == Some("True")
    };
    let what = format!("SupportedVersion={supported} and accepted");
    stage.when("GatewayClass", "", "portcullis", &what, is_so).await;
}

async fn a_new_kind_and_a_new_version_are_followed(stage: &Stage) {
    stage.cluster.apply(LISTENER_SET).unwrap();
    let accepted = |status: &Value| verdict(status, "Accepted") == Some("True");
    stage.when("ListenerSet", SITE, "more", "accepted, though its kind is new", accepted).await;
    refers(stage, "True").await;
    stage.kubectl(&["delete", "referencegrant", "site", "--namespace=other"]);
    refers(stage, "False").await;
    stage.cluster.apply(&grant("v1")).unwrap();
    refers(stage, "True").await;
}

/// Waits until the bystander is answered so.
async fn answers(address: &str, expected: u16) {
    eventually(&format!("the bystander is answered {expected}"), async || {
        get(address, BYSTANDER, "/").await.ok().filter(|(status, _)| *status == expected)
    })
    .await;
}

/// Waits until the route may, or may not, refer to the other namespace.
async fn refers(stage: &Stage, verdict: &str) {
    let is_so = |status: &Value| {
        our_parent(status).and_then(|parent| self::verdict(parent, "ResolvedRefs")) == Some(verdict)
    };
    stage.when("HTTPRoute", SITE, "abroad", &format!("ResolvedRefs={verdict}"), is_so).await;
}

/// Waits until the route that is refused says so on itself; nothing of it is served then.
async fn is_refused(stage: &Stage, address: &str) {
    let refused =
        |status: &Value| our_parent(status).and_then(|parent| verdict(parent, "Accepted")) == Some("False");
    let route = stage.when("HTTPRoute", SITE, "smuggler", "refused", refused).await;
    let accepted = condition(our_parent(status(&route)).unwrap(), "Accepted").unwrap();
    let message = accepted["message"].as_str().unwrap();
    assert!(message.contains("spec.rules[0].filters[0].responseHeaderModifier.set[0].value"), "{message}");
    let answered = get(address, "smuggler.example", "/").await.unwrap().0;
    assert_eq!(answered, 404);
}

const ABROAD: &str = "apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: Service
metadata: {namespace: other, name: echo}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: site, name: abroad}
spec:
  parentRefs: [{name: web}]
  hostnames: [abroad.example]
  rules: [{backendRefs: [{name: echo, namespace: other, port: 80}]}]
";

/// v1.4 has it in v1beta1 alone; since v1.7 it is preferred in v1.
fn grant(version: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/{version}
kind: ReferenceGrant
metadata: {{namespace: other, name: site}}
spec:
  from: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: site}}]
  to: [{{group: '', kind: Service}}]
"
    )
}
