//! Routes below HTTP: connections and datagrams are taken as they are.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::{Age, HostPattern, Origin, WeightedBackend};

/// What carries a listener's traffic, or an endpoint's. Ports of the one have nothing to do with those of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        })
    }
}

/// A TLSRoute, TCPRoute or UDPRoute as one listener takes it: where a connection, or a client's datagrams, go.
///
/// Of several that a listener takes, the most specific hostname holds, and under one hostname the oldest route alone
/// (GEP-1901, GEP-2643, GEP-2645).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L4Route {
    /// The route object.
    pub origin: Origin,
    /// When it was created.
    pub age: Age,
    /// The server names that it takes, its own, never their intersection with a listener's; `[Any]` for kinds that
    /// know none.
    pub hostnames: Vec<HostPattern>,
    /// In the order of `backendRefs`, without filters. Where no weight is above 0, everything is closed or dropped.
    pub backends: Vec<WeightedBackend>,
}

/// The routes of a listener that takes no requests, in no particular order.
pub type L4Routes = Vec<Arc<L4Route>>;

impl L4Route {
    /// Which of two routes serves a hostname that both name: the older, then the first by `namespace/name`.
    #[must_use]
    pub fn seniority(&self, other: &L4Route) -> Ordering {
        let name =
            |route: &L4Route, of: &L4Route| route.origin.qualified_name().cmp(&of.origin.qualified_name());
        self.age.cmp(&other.age).then_with(|| name(self, other))
    }
}
