//! Objects for tests.

use serde_json::{Value, json};

const GATEWAY_API: &str = "gateway.networking.k8s.io/v1";

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn class() -> Value {
    json!({"apiVersion": GATEWAY_API, "kind": "GatewayClass", "metadata": {"name": "portcullis"},
        "spec": {"controllerName": "portcullis.dev/gateway-controller"}})
}

/// A Gateway with a listener on a port, and with certificates if it names Secrets.
pub(crate) fn gateway(name: &str, port: u16, secrets: &[&str]) -> Value {
    let references: Vec<Value> = secrets.iter().map(|name| json!({"name": name})).collect();
    let listener = if references.is_empty() {
        json!({"name": "web", "port": port, "protocol": "HTTP"})
    } else {
        json!({"name": "web", "port": port, "protocol": "HTTPS", "tls": {"certificateRefs": references}})
    };
    json!({"apiVersion": GATEWAY_API, "kind": "Gateway",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"gatewayClassName": "portcullis", "listeners": [listener]}})
}

/// A route to a Service, of a Gateway `web`.
pub(crate) fn route(name: &str, service: &str) -> Value {
    json!({"apiVersion": GATEWAY_API, "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"parentRefs": [{"name": "web"}],
            "rules": [{"backendRefs": [{"name": service, "port": 80}]}]}})
}

pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"port": 80}]}})
}

/// A slice of a Service with one endpoint.
pub(crate) fn slice(service: &str) -> Value {
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": format!("{service}-1"), "namespace": "default",
            "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 8080}]})
}

pub(crate) fn secret(name: &str, content: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
        "type": "Opaque", "data": {"tls.crt": content}})
}
