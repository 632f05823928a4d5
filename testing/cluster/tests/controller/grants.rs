//! What a ReferenceGrant permits, and no longer.

use serde_json::Value;

use crate::{
    certificates::{Tls, secret},
    client::get,
    site::{BYSTANDER, SITE},
    stage::{Stage, eventually, our_parent, verdict},
};

/// While grants come and go, what they permit is served and not served, with statuses that say so; what needs none never
/// notices.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_deleted_ends_what_it_permitted() {
    let Some(mut stage) = Stage::start("grants").await else { return };
    let address = stage.serve_site().await;
    let tls = Tls::of("far.example");
    let host = stage.cluster.network().address();
    let far = crate::site::service("far", host, 3000).replace("namespace: site", "namespace: far");
    stage.cluster.apply(&format!("{FAR}---\n{far}---\n{}", secret("far", "certificate", &tls))).unwrap();
    let visitor = crate::client::Visitor::start(&address, BYSTANDER);
    for _ in 0..2 {
        stage.cluster.apply(GRANTS).unwrap();
        resolves(&stage, "True").await;
        eventually("the far backend is served", async || {
            get(&address, "far.example", "/").await.ok().filter(|(status, _)| *status == 200)
        })
        .await;
        eventually("the far certificate is shown", async || tls.shown(&address).await.ok()).await;

        stage.kubectl(&["delete", "referencegrant", "--all", "--namespace=far"]);
        resolves(&stage, "False").await;
        let (status, _) = get(&address, "far.example", "/").await.unwrap();
        assert_eq!(status, 500, "what the status says is in effect");
        eventually("the far certificate is shown no more", async || tls.shown(&address).await.err()).await;
    }
    let (wrong, right) = visitor.end().await;
    assert_eq!((wrong, right > 20), (Vec::new(), true), "{right} right answers");
}

/// Waits until the references of route and listener resolve, or do not.
async fn resolves(stage: &Stage, expected: &str) {
    let what = format!("ResolvedRefs={expected}");
    let of_route = |status: &Value| {
        our_parent(status).and_then(|parent| verdict(parent, "ResolvedRefs")) == Some(expected)
    };
    stage.when("HTTPRoute", SITE, "far", &what, of_route).await;
    let of_listener = |status: &Value| verdict(&status["listeners"][1], "ResolvedRefs") == Some(expected);
    stage.when("Gateway", SITE, "web", &what, of_listener).await;
}

const FAR: &str = "apiVersion: v1
kind: Namespace
metadata: {name: far}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: web}
spec:
  gatewayClassName: portcullis
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: certificate, namespace: far}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: site, name: far}
spec:
  parentRefs: [{name: web}]
  hostnames: [far.example]
  rules: [{backendRefs: [{name: far, namespace: far, port: 80}]}]
";

const GRANTS: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {namespace: far, name: routes}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: site}]
  to: [{group: '', kind: Service}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {namespace: far, name: gateways}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: site}]
  to: [{group: '', kind: Secret}]
";
