//! The objects that are served.

use std::net::SocketAddrV4;

use kube::{
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::{Error, controller::CLASS};

/// The Gateway's name.
pub(super) const GATEWAY: &str = "bench";

/// A kind of which objects are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Gateway,
    HttpRoute,
    Service,
    EndpointSlice,
    Secret,
}

impl Kind {
    pub(super) fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Self::Gateway => ("gateway.networking.k8s.io", "v1", "Gateway"),
            Self::HttpRoute => ("gateway.networking.k8s.io", "v1", "HTTPRoute"),
            Self::Service => ("", "v1", "Service"),
            Self::EndpointSlice => ("discovery.k8s.io", "v1", "EndpointSlice"),
            Self::Secret => ("", "v1", "Secret"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    /// An object of this kind, from all but its type.
    pub(super) fn object(self, mut object: Value) -> Result<DynamicObject, Error> {
        let resource = self.resource();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), json!(resource.api_version));
            fields.insert("kind".to_owned(), json!(resource.kind));
        }
        serde_json::from_value(object).map_err(|error| Error::Measurement(error.to_string()))
    }
}

/// The name of a route, its Service and its endpoints; its host is under [`host`].
pub(super) fn name(number: usize) -> String {
    format!("route-{number}")
}

/// The host that a route of this name takes.
pub(super) fn host(name: &str) -> String {
    format!("{name}.example.test")
}

pub(super) fn gateway() -> Value {
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
    json!({
        "metadata": {"name": GATEWAY},
        "spec": {"gatewayClassName": CLASS, "listeners": [listener]},
    })
}

/// A Gateway that serves TLS with the certificate of a Secret.
pub(super) fn tls_gateway(name: &str, secret: &str) -> Value {
    let tls = json!({"certificateRefs": [{"name": secret}]});
    let listener = json!({"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls});
    json!({"metadata": {"name": name}, "spec": {"gatewayClassName": CLASS, "listeners": [listener]}})
}

/// A Secret with a certificate.
pub(super) fn certificate(name: &str) -> Result<Value, Error> {
    let made = rcgen::generate_simple_self_signed([host(name)])?;
    let data = json!({"tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem()});
    Ok(json!({"metadata": {"name": name}, "type": "kubernetes.io/tls", "stringData": data}))
}

/// A route that leads to a Service.
pub(super) fn route(name: &str, service: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"parentRefs": [{"name": GATEWAY}], "hostnames": [host(name)], "rules": rules(service)},
    })
}

/// A route's rules.
pub(super) fn rules(service: &str) -> Value {
    json!([{"backendRefs": [{"name": service, "port": 80}]}])
}

/// A Service whose endpoints are made by hand; without an address, which takes the API server long to allot.
pub(super) fn service(name: &str) -> Value {
    let ports = json!([{"name": "http", "port": 80}]);
    json!({"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": ports}})
}

/// The endpoints of the Service of this name.
pub(super) fn endpoints(name: &str, backend: SocketAddrV4) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [backend.ip()], "conditions": {"ready": true}}],
        "ports": ports(backend),
    })
}

/// The ports of endpoints.
pub(super) fn ports(backend: SocketAddrV4) -> Value {
    json!([{"name": "http", "port": backend.port(), "protocol": "TCP"}])
}
