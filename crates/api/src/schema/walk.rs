//! Listing what the schemas know, to be compared with the CRDs.

use std::sync::LazyLock;

use super::{Described, Schema, Shape};
use crate::{
    backend::Backend,
    backend_tls_policy::BackendTlsPolicy,
    gateway::Gateway,
    gateway_class::GatewayClass,
    grpc_route::GrpcRoute,
    http_route::HttpRoute,
    kind::Kind,
    l4_route::{TcpRoute, UdpRoute},
    listener_set::ListenerSet,
    reference_grant::ReferenceGrant,
    tls_route::TlsRoute,
};

/// The schema of a kind's version; none for the core kinds, and for versions that are not served.
pub(crate) fn schema(kind: Kind, version: &str) -> Option<&'static Schema> {
    static SCHEMAS: LazyLock<Vec<(Kind, &'static str, Schema)>> = LazyLock::new(|| {
        let versions = |kind: Kind| kind.versions().iter().map(move |version| (kind, *version));
        let all = Kind::ALL.iter().copied().flat_map(versions);
        all.filter_map(|(kind, version)| Some((kind, version, build(kind, version)?))).collect()
    });
    SCHEMAS.iter().find(|(k, v, _)| *k == kind && *v == version).map(|(_, _, schema)| schema)
}

fn build(kind: Kind, _version: &str) -> Option<Schema> {
    Some(match kind {
        Kind::GatewayClass => GatewayClass::schema(),
        Kind::Gateway => Gateway::schema(),
        Kind::ListenerSet => ListenerSet::schema(),
        Kind::HttpRoute => HttpRoute::schema(),
        Kind::GrpcRoute => GrpcRoute::schema(),
        Kind::TlsRoute => TlsRoute::schema(),
        Kind::TcpRoute => TcpRoute::schema(),
        Kind::UdpRoute => UdpRoute::schema(),
        Kind::ReferenceGrant => ReferenceGrant::schema(),
        Kind::BackendTlsPolicy => BackendTlsPolicy::schema(),
        Kind::Backend => Backend::schema(),
        Kind::Service
        | Kind::EndpointSlice
        | Kind::Secret
        | Kind::ConfigMap
        | Kind::Namespace
        | Kind::ClusterTrustBundle => return None,
    })
}

/// The path of every property that our type of a kind has a field for, sorted: fields joined by
/// dots, `[]` for the items of a list, `{}` for the values of a map, such as
/// `spec.listeners[].tls.options{}`. Nothing for the core kinds.
pub fn properties(kind: Kind, version: &str) -> Vec<String> {
    let mut paths = Vec::new();
    if let Some(schema) = schema(kind, version) {
        collect(schema, "", &mut paths);
    }
    paths.sort();
    paths
}

fn collect(schema: &Schema, path: &str, paths: &mut Vec<String>) {
    if !path.is_empty() {
        paths.push(path.to_owned());
    }
    match &schema.shape {
        Shape::Object(fields) => {
            for field in fields {
                let dot = if path.is_empty() { "" } else { "." };
                collect(&field.schema, &format!("{path}{dot}{}", field.name), paths);
            }
        }
        Shape::List(list) => collect(&list.items, &format!("{path}[]"), paths),
        Shape::Map { values, .. } => collect(values, &format!("{path}{{}}"), paths),
        Shape::Text(_) | Shape::Integer(_) | Shape::Boolean | Shape::Metadata => {}
    }
}
