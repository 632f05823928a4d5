//! Filters of listeners (GEP-5224), which the official suite does not try.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    client::get_with,
    stage::{Stage, condition, eventually, status, verdict},
};

/// A Gateway that asks `auth` about every request, and a route by what that says of the tenant.
const GUARDED: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: guarded, namespace: default}
spec:
  gatewayClassName: portcullis
  allowedListeners: {namespaces: {from: Same}}
  listeners:
  - name: http
    port: 80
    protocol: HTTP
    filters:
      requests:
      - type: ExternalAuth
        externalAuth:
          protocol: HTTP
          backendRef: {name: auth, port: 80}
          http: {allowedHeaders: [x-echo-set-header], allowedResponseHeaders: [x-tenant]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: by-tenant, namespace: default}
spec:
  parentRefs: [{name: guarded}]
  rules:
  - matches: [{path: {value: /app}, headers: [{name: x-tenant, value: gold}]}]
    backendRefs: [{name: gold, port: 80}]
  - matches: [{path: {value: /app}}]
    backendRefs: [{name: plain, port: 80}]
";

/// Filters where there are no requests: the API server takes them on an entry of a ListenerSet.
const MISPLACED: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: misplaced, namespace: default}
spec:
  parentRef: {name: guarded}
  listeners:
  - name: tcp
    port: 81
    protocol: TCP
    filters:
      requests:
      - type: ExternalAuth
        externalAuth: {protocol: HTTP, http: {}, backendRef: {name: auth, port: 80}}
";

const GRANT: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: to-auth, namespace: elsewhere}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: default}]
  to: [{group: '', kind: Service}]
";

/// A Pod and its Service.
fn answering((namespace, name): (&str, &str)) -> String {
    format!(
        "apiVersion: v1
kind: Service
metadata: {{namespace: {namespace}, name: {name}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: 3000}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{namespace: {namespace}, name: {name}, labels: {{app: {name}}}}}
spec:
  containers:
    - name: echo
      image: gcr.io/k8s-staging-gateway-api/echo-basic:v0.1.0
      env: [{{name: POD_NAME, value: {name}}}, {{name: NAMESPACE, value: {namespace}}}]
      readinessProbe: {{tcpSocket: {{port: 3000}}, periodSeconds: 1}}
"
    )
}

/// The condition of the Gateway's one listener.
fn of_listener<'s>(status: &'s Value, name: &str) -> Option<&'s Value> {
    condition(&status["listeners"][0], name)
}

impl Stage {
    /// Waits until an answer has this status and says this.
    async fn answers(&self, address: &str, path: &str, headers: &str, expected: (u16, &str)) {
        eventually(&format!("{path} with {headers:?} is answered with {expected:?}"), async || {
            let answer = get_with(address, "guarded.example", path, headers).await.ok();
            answer.filter(|(status, body)| *status == expected.0 && body.contains(expected.1))
        })
        .await;
    }

    /// Has the filter of the Gateway ask another service.
    async fn ask_instead(&self, backend: Value) {
        let at = "/spec/listeners/0/filters/requests/0/externalAuth/backendRef";
        let change = json!([{"op": "replace", "path": at, "value": backend}]);
        let change = Patch::Json::<()>(serde_json::from_value(change).unwrap());
        let gateways = self.objects("v1", "Gateway", "default");
        gateways.patch("guarded", &PatchParams::default(), &change).await.unwrap();
    }

    /// Waits until the listener's references do not resolve for this reason, and the filter is named.
    async fn unresolved(&self, reason: &str) {
        let is_so = |status: &Value| {
            let resolved = of_listener(status, "ResolvedRefs");
            let names_it = |one: &Value| one["message"].as_str().unwrap().contains("filters.requests[0]");
            resolved.is_some_and(|one| one["status"] == "False" && one["reason"] == reason && names_it(one))
        };
        let gateway = self.when("Gateway", "default", "guarded", reason, is_so).await;
        assert_eq!(verdict(&status(&gateway)["listeners"][0], "Accepted"), Some("True"));
    }
}

/// Requests are asked about before a rule is looked for, whether or not one takes them; rules see what the service says; while
/// the service cannot be asked nothing passes, and the listener says why.
#[tokio::test(flavor = "multi_thread")]
async fn services_are_asked_before_a_rule_is_looked_for() {
    let Some(stage) = Stage::start("listener-filters").await else { return };
    stage.cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n").unwrap();
    let pods = [("default", "auth"), ("default", "gold"), ("default", "plain"), ("elsewhere", "auth")];
    stage.cluster.apply(&pods.map(answering).join("---\n")).unwrap();
    stage.cluster.apply(GUARDED).unwrap();
    let address = stage.address("default", "guarded").await;

    let gold = "X-Echo-Set-Header: X-Tenant:gold\r\n";
    stage.answers(&address, "/app", gold, (200, "\"pod\": \"gold\"")).await;
    stage.answers(&address, "/app", "", (200, "\"pod\": \"plain\"")).await;
    stage.answers(&address, "/app", "X-Tenant: gold\r\n", (200, "\"pod\": \"plain\"")).await;
    stage.answers(&address, "/status/403", "", (403, "")).await; // of no rule
    stage.answers(&address, "/of-no-rule", "", (404, "")).await;

    stage.ask_instead(json!({"name": "nobody", "port": 80})).await;
    stage.unresolved("InvalidListenerFilterRef").await;
    stage.answers(&address, "/app", gold, (500, "")).await;

    stage.ask_instead(json!({"name": "auth", "namespace": "elsewhere", "port": 80})).await;
    stage.unresolved("RefNotPermitted").await;
    stage.answers(&address, "/app", gold, (500, "")).await;
    stage.cluster.apply(GRANT).unwrap();
    stage.answers(&address, "/app", gold, (200, "\"pod\": \"gold\"")).await;
    let resolved =
        |status: &Value| of_listener(status, "ResolvedRefs").is_some_and(|one| one["status"] == "True");
    stage.when("Gateway", "default", "guarded", "resolved", resolved).await;

    stage.cluster.apply(MISPLACED).unwrap();
    let refused = |status: &Value| {
        let accepted = of_listener(status, "Accepted");
        accepted.is_some_and(|one| one["status"] == "False" && one["reason"] == "InvalidListenerFilter")
    };
    stage.when("ListenerSet", "default", "misplaced", "refused for its filter", refused).await;
}
