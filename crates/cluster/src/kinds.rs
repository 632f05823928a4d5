//! Which kinds are watched, and how much of their objects.

use kube::core::ApiResource;
use portcullis_api::Kind;

/// How much of a kind is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every object.
    Whole,
    /// The objects that others refer to; of the rest, that they have changed.
    Referenced,
}

/// How much of a kind is read.
pub(crate) const fn extent(kind: Kind) -> Extent {
    match kind {
        Kind::Secret | Kind::ConfigMap => Extent::Referenced,
        _ => Extent::Whole,
    }
}

/// Whether objects of a kind are held back while what they refer to is not known.
pub(crate) const fn is_held(kind: Kind) -> bool {
    has_status_of_ours(kind)
}

/// Whether the status of a kind is ours to write.
pub(crate) const fn has_status_of_ours(kind: Kind) -> bool {
    use Kind::{
        Backend, BackendTlsPolicy, ClusterTrustBundle, ConfigMap, EndpointSlice, Gateway, GatewayClass,
        GrpcRoute, HttpRoute, ListenerSet, Namespace, ReferenceGrant, Secret, Service, TcpRoute, TlsRoute,
        UdpRoute,
    };
    match kind {
        GatewayClass | Gateway | ListenerSet | HttpRoute | GrpcRoute | TlsRoute | TcpRoute | UdpRoute
        | BackendTlsPolicy | Backend => true,
        ReferenceGrant | Service | EndpointSlice | Secret | ConfigMap | Namespace | ClusterTrustBundle => {
            false
        }
    }
}

/// Whether the API server itself has the kind, whatever CRDs are installed.
pub(crate) const fn is_always_served(kind: Kind) -> bool {
    matches!(kind, Kind::Service | Kind::EndpointSlice | Kind::Secret | Kind::ConfigMap | Kind::Namespace)
}

/// Where the API server has a version of a kind.
pub(crate) fn resource(kind: Kind, version: &str) -> ApiResource {
    ApiResource {
        group: kind.group().to_owned(),
        version: version.to_owned(),
        api_version: kind.api_version_of(version),
        kind: kind.as_str().to_owned(),
        plural: kind.plural().to_owned(),
    }
}
