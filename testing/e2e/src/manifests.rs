//! What many tests serve: a Gateway `web`, a route `r` on it and the Service `a` that it leads to.

/// A GatewayClass and the Gateway, with listeners as a YAML list has them between its brackets.
#[must_use]
pub fn gateway(listeners: &str) -> String {
    format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: portcullis}}
spec: {{controllerName: portcullis.dev/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: web}}
spec:
  gatewayClassName: portcullis
  listeners: [{listeners}]
"
    )
}

/// A Gateway with one listener, its route and no Service.
#[must_use]
pub fn http(port: u16) -> String {
    format!("{}{ROUTE}", gateway(&format!("{{name: http, protocol: HTTP, port: {port}}}")))
}

/// A Gateway with one listener, its route, and the Service that it leads to.
#[must_use]
pub fn served(port: u16) -> String {
    format!("{}{SERVICE}", http(port))
}

/// The route.
pub const ROUTE: &str = "---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web}]
  rules:
  - backendRefs: [{name: a, port: 80}]
";

/// The Service, without endpoints.
pub const SERVICE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {ports: [{port: 80}]}
";

/// A Service of a name, and its one endpoint at a port of this machine.
#[must_use]
pub fn service(name: &str, port: u16) -> String {
    format!(
        r#"---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}-1, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{port: {port}}}]
endpoints: [{{addresses: ["127.0.0.1"]}}]
"#
    )
}

/// An HTTPRoute `NAME` of the Gateway: a prefix leads to the Service of the same name, which is here too.
#[must_use]
pub fn prefix(name: &str, path: &str, port: u16) -> String {
    let route = format!(
        "---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{name: web}}]
  rules: [{{matches: [{{path: {{value: {path}}}}}], backendRefs: [{{name: {name}, port: 80}}]}}]
"
    );
    route + &service(name, port)
}
