//! [`TlsRoute`].

use crate::{
    cel::{references, routes},
    gateway::DefaultScope,
    hostname::Hostname,
    l4_route::L4RouteRule,
    references::ParentRef,
    resource::resource,
    route::MAX_PARENTS,
    schema::{Required, object},
    status::RouteStatus,
};

/// Server names per TLSRoute, at most.
pub const MAX_SERVER_NAMES: usize = 1024;

resource! {
    /// Which TLS connections go where, by server name.
    pub struct TlsRoute: TlsRoute {
        spec: TlsRouteSpec,
        status: RouteStatus,
    }
}

object! {
    /// Which TLS connections go where.
    #[derive(Eq)]
    pub struct TlsRouteSpec {
        /// The Gateways, ListenerSets or Services it attaches to.
        pub parent_refs as "parentRefs": Vec<ParentRef> [
            .max_items(MAX_PARENTS).rules(references::PARENTS)
        ],
        /// Whether it also attaches to default Gateways.
        pub use_default_gateways as "useDefaultGateways": Option<DefaultScope>,
        /// The server names it serves. Only v1alpha2 may leave them out.
        pub hostnames: Vec<Hostname> [
            .items(1, MAX_SERVER_NAMES).rules(routes::TLS_HOSTNAMES)
        ] = Required,
        /// Its rule. Only v1alpha2 has several.
        pub rules: Vec<L4RouteRule> [.items(1, 1)] = Required,
    }
}
