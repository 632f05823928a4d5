//! The schema and the Rust type of every served version of a kind.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Described, ReadError, Schema};
use crate::{
    backend::Backend,
    backend_tls_policy::BackendTlsPolicy,
    cel::routes::RULE_NAMES,
    gateway::Gateway,
    gateway_class::GatewayClass,
    grpc_route::GrpcRoute,
    http_route::HttpRoute,
    kind::Kind,
    l4_route::{TcpRoute, UdpRoute},
    listener_set::ListenerSet,
    object::Object,
    reference_grant::ReferenceGrant,
    route::MAX_RULES,
    tls_route::{MAX_SERVER_NAMES, TlsRoute},
};

/// A version of a kind of ours.
#[derive(Debug)]
pub(crate) struct Served {
    kind: Kind,
    version: &'static str,
    pub(crate) schema: Schema,
    /// Reads what fits the schema.
    pub(crate) read: fn(Value) -> Result<Object, ReadError>,
}

/// A version of a kind; none for the core kinds, and for versions that are not served.
pub(crate) fn served(kind: Kind, version: &str) -> Option<&'static Served> {
    static SERVED: LazyLock<Vec<Served>> = LazyLock::new(|| {
        let versions = |kind: Kind| kind.versions().iter().map(move |version| (kind, *version));
        let all = Kind::ALL.iter().copied().flat_map(versions);
        all.filter_map(|(kind, version)| of_kind(kind, version)).collect()
    });
    SERVED.iter().find(|served| served.kind == kind && served.version == version)
}

fn of_kind(kind: Kind, version: &'static str) -> Option<Served> {
    fn of_type<T: Described + Into<Object>>(kind: Kind, version: &'static str) -> Served {
        let mut schema = T::schema();
        if version == "v1alpha2" {
            relax_to_v1alpha2(&mut schema);
        }
        Served { kind, version, schema, read: |value| T::read(value).map(Into::into) }
    }
    let of_type = match kind {
        Kind::GatewayClass => of_type::<GatewayClass>,
        Kind::Gateway => of_type::<Gateway>,
        Kind::ListenerSet => of_type::<ListenerSet>,
        Kind::HttpRoute => of_type::<HttpRoute>,
        Kind::GrpcRoute => of_type::<GrpcRoute>,
        Kind::TlsRoute => of_type::<TlsRoute>,
        Kind::TcpRoute => of_type::<TcpRoute>,
        Kind::UdpRoute => of_type::<UdpRoute>,
        Kind::ReferenceGrant => of_type::<ReferenceGrant>,
        Kind::BackendTlsPolicy => of_type::<BackendTlsPolicy>,
        Kind::Backend => of_type::<Backend>,
        Kind::Service
        | Kind::EndpointSlice
        | Kind::Secret
        | Kind::ConfigMap
        | Kind::Namespace
        | Kind::ClusterTrustBundle => return None,
    };
    Some(of_type(kind, version))
}

/// In v1alpha2, TLSRoutes, TCPRoutes and UDPRoutes have several rules, and TLSRoutes may lack
/// host names, which then have no rules either.
fn relax_to_v1alpha2(schema: &mut Schema) {
    if let Some(rules) = schema.field_mut(&["spec", "rules"]) {
        *rules = rules.clone().items(1, MAX_RULES).rules(&[&RULE_NAMES]);
    }
    if let Some(hostnames) = schema.field_mut(&["spec", "hostnames"]) {
        let mut relaxed = hostnames.clone().items(0, MAX_SERVER_NAMES).optional();
        relaxed.schema.rules.clear();
        *hostnames = relaxed;
    }
}
