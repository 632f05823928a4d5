//! [`TcpRoute`] and [`UdpRoute`], and the rule that they share with TLSRoutes.

use crate::{
    cel::references,
    gateway::DefaultScope,
    names::SectionName,
    references::{BackendRef, ParentRef},
    resource::resource,
    route::{MAX_BACKENDS, MAX_PARENTS},
    schema::{Required, object},
    status::RouteStatus,
};

resource! {
    /// Where TCP connections go.
    pub struct TcpRoute: TcpRoute {
        spec: L4RouteSpec,
        status: RouteStatus,
    }
}

resource! {
    /// Where UDP sessions go.
    pub struct UdpRoute: UdpRoute {
        spec: L4RouteSpec,
        status: RouteStatus,
    }
}

object! {
    /// Where connections or sessions go.
    #[derive(Eq)]
    pub struct L4RouteSpec {
        /// The Gateways, ListenerSets or Services it attaches to.
        pub parent_refs as "parentRefs": Vec<ParentRef> [
            .max_items(MAX_PARENTS).rules(references::PARENTS)
        ],
        /// Whether it also attaches to default Gateways.
        pub use_default_gateways as "useDefaultGateways": Option<DefaultScope>,
        /// Its rule. Only v1alpha2 has several.
        pub rules: Vec<L4RouteRule> [.items(1, 1)] = Required,
    }
}

object! {
    /// Backends for whatever comes.
    #[derive(Eq)]
    pub struct L4RouteRule {
        /// Its name, unique within the route.
        pub name: Option<SectionName>,
        /// Where it goes.
        pub backend_refs as "backendRefs": Vec<BackendRef> [.items(1, MAX_BACKENDS)] = Required,
    }
}
