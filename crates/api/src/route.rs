//! What the specs of all routes have in common.

use crate::{hostname::Hostname, object::Object, references::ParentRef};

/// Parents per route, at most.
pub const MAX_PARENTS: usize = 32;
/// Host names per HTTPRoute or GRPCRoute, at most.
pub const MAX_HOSTNAMES: usize = 16;
/// Rules per route, at most.
pub const MAX_RULES: usize = 16;
/// Matches per rule, at most.
pub const MAX_MATCHES: usize = 64;
/// Filters per rule or backend, at most.
pub const MAX_FILTERS: usize = 16;
/// Backends per rule, at most.
pub const MAX_BACKENDS: usize = 16;

impl Object {
    /// What a route attaches to; nothing if the object is no route.
    pub fn route_parents(&self) -> Option<&[ParentRef]> {
        match self {
            Self::HttpRoute(route) => Some(&route.spec.parent_refs),
            Self::GrpcRoute(route) => Some(&route.spec.parent_refs),
            Self::TlsRoute(route) => Some(&route.spec.parent_refs),
            Self::TcpRoute(route) => Some(&route.spec.parent_refs),
            Self::UdpRoute(route) => Some(&route.spec.parent_refs),
            _ => None,
        }
    }

    /// The hostnames that a route names; none for kinds that know no hostnames.
    pub fn route_hostnames(&self) -> &[Hostname] {
        match self {
            Self::HttpRoute(route) => &route.spec.hostnames,
            Self::GrpcRoute(route) => &route.spec.hostnames,
            Self::TlsRoute(route) => &route.spec.hostnames,
            _ => &[],
        }
    }
}
