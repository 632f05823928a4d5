//! A small site for tests: a Gateway, a backend, and routes to it.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::{
    client::get,
    stage::{Stage, eventually},
};

/// The namespace of it all.
pub(crate) const SITE: &str = "site";

/// A host that is served all the time, whatever happens to others.
pub(crate) const BYSTANDER: &str = "bystander.example";

impl Stage {
    /// Starts a backend, and serves [`BYSTANDER`] from it; returns the Gateway's address.
    pub(crate) async fn serve_site(&mut self) -> String {
        let host = self.cluster.network().address();
        let mut echo = self.cluster.network().command(&self.program);
        self.cluster.run("echo", echo.args(["echo", &format!("{host}:3000")])).unwrap();
        let gateway = format!(
            "apiVersion: v1
kind: Namespace
metadata: {{name: {SITE}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{namespace: {SITE}, name: web}}
spec:
  gatewayClassName: portcullis
  listeners: [{{name: http, protocol: HTTP, port: 80}}]
---
{}---
{}",
            service("echo", host, 3000),
            route("bystander", BYSTANDER)
        );
        self.cluster.apply(&gateway).unwrap();
        let address = self.address(SITE, "web").await;
        self.accepted(SITE, "bystander").await;
        eventually("the bystander is served", async || {
            get(&address, BYSTANDER, "/").await.ok().filter(|(status, _)| *status == 200)
        })
        .await;
        address
    }

    /// Waits until the Gateway says that it has so many routes.
    pub(crate) async fn attached(&self, count: usize) {
        let is_so = |status: &Value| status["listeners"][0]["attachedRoutes"] == count;
        self.when("Gateway", SITE, "web", &format!("the parent of {count} routes"), is_so).await;
    }
}

/// A route of a host to the backend.
pub(crate) fn route(name: &str, host: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{namespace: {SITE}, name: {name}}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [{host}]
  rules: [{{backendRefs: [{{name: echo, port: 80}}]}}]
"
    )
}

/// A Service of the site that leads to a port of an address.
pub(crate) fn service(name: &str, address: Ipv4Addr, port: u16) -> String {
    format!(
        "apiVersion: v1
kind: Service
metadata: {{namespace: {SITE}, name: {name}}}
spec: {{ports: [{{port: 80, targetPort: {port}}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{namespace: {SITE}, name: {name}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
endpoints: [{{addresses: [{address}]}}]
ports: [{{port: {port}}}]
"
    )
}

/// The Gateway, now with a ListenerSet.
pub(crate) const LISTENER_SET: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: web}
spec:
  gatewayClassName: portcullis
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: site, name: more}
spec:
  parentRef: {name: web}
  listeners: [{name: http, protocol: HTTP, port: 8080}]
";
