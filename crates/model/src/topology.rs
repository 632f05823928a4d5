//! Where a proxy stands, and which endpoints are meant for proxies that stand there.

use std::sync::Arc;

use crate::{Endpoint, EndpointState, Endpoints};

/// Where a proxy stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locality {
    /// The zone, as nodes are labelled with it (`topology.kubernetes.io/zone`); none if it is not known.
    pub zone: Option<Arc<str>>,
    /// The name of the node; none if it is not known.
    pub node: Option<Arc<str>>,
}

/// For whom an endpoint is meant. A hint: nobody is refused elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hints {
    /// Zones whose proxies should use it; empty if there is no such hint.
    pub zones: Vec<Arc<str>>,
    /// Nodes whose proxies should use it; empty if there is no such hint.
    pub nodes: Vec<Arc<str>>,
}

/// Which of a backend's endpoints take the requests of a proxy.
///
/// Source: `EndpointConditions` and `EndpointHints` field documentation, KEP-1669, KEP-2433, KEP-3015; what kube-proxy
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The ready ones that are meant for its node: every ready one has a hint of nodes.
    SameNode,
    /// The ready ones that are meant for its zone: every ready one has a hint of zones.
    SameZone,
    /// All that are ready.
    Ready,
    /// None is ready: those that are ending but still serve.
    Draining,
}

impl Selection {
    /// What holds for a proxy that stands there. One hint that is missing, or fits nowhere, leaves all of its kind out
    /// of account: a part of the endpoints must not get the whole of the requests because the others say nothing.
    #[must_use]
    pub fn of(endpoints: &Endpoints, at: &Locality) -> Selection {
        let ready = || endpoints.endpoints.iter().filter(|endpoint| endpoint.state == EndpointState::Ready);
        if ready().next().is_none() {
            return Selection::Draining;
        }
        let fits = |selection: Selection, hints: fn(&Hints) -> &[Arc<str>]| {
            ready().all(|endpoint| !hints(&endpoint.hints).is_empty())
                && ready().any(|endpoint| selection.takes(endpoint, at))
        };
        if fits(Selection::SameNode, |hints| &hints.nodes) {
            Selection::SameNode
        } else if fits(Selection::SameZone, |hints| &hints.zones) {
            Selection::SameZone
        } else {
            Selection::Ready
        }
    }

    /// Whether an endpoint is one of these.
    #[must_use]
    pub fn takes(self, endpoint: &Endpoint, at: &Locality) -> bool {
        let names = |hints: &[Arc<str>], place: &Option<Arc<str>>| {
            place.as_ref().is_some_and(|place| hints.contains(place))
        };
        match self {
            Selection::Draining => endpoint.state == EndpointState::Draining,
            _ if endpoint.state != EndpointState::Ready => false,
            Selection::Ready => true,
            Selection::SameNode => names(&endpoint.hints.nodes, &at.node),
            Selection::SameZone => names(&endpoint.hints.zones, &at.zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{EndpointAddress, EndpointsKey, Origin, Transport};

    fn endpoints(given: Vec<(bool, Vec<u8>, Vec<u8>)>) -> Endpoints {
        let origin = Origin { kind: "Service".into(), namespace: "default".into(), name: "web".into() };
        let names = |names: Vec<u8>| names.into_iter().map(|name| name.to_string().into()).collect();
        let endpoint = |(number, (ready, zones, nodes)): (u16, (bool, Vec<u8>, Vec<u8>))| Endpoint {
            state: if ready { EndpointState::Ready } else { EndpointState::Draining },
            hints: Hints { zones: names(zones), nodes: names(nodes) },
            ..Endpoint::ready(EndpointAddress::Socket(([10, 0, 0, 1], number).into()))
        };
        Endpoints {
            key: EndpointsKey { origin, port: 80, transport: Transport::Tcp },
            endpoints: (1..).zip(given).map(endpoint).collect(),
        }
    }

    /// In words: of the ready ones those for the node, if each says for which it is; else those for the zone, if each
    /// says for which; else all; and those that drain, if none is ready. No such set is empty but the last.
    fn oracle(endpoints: &Endpoints, at: &Locality) -> BTreeSet<EndpointAddress> {
        let with = |wanted: &dyn Fn(&Endpoint) -> bool| -> BTreeSet<EndpointAddress> {
            let found = endpoints.endpoints.iter().filter(|endpoint| wanted(endpoint));
            found.map(|endpoint| endpoint.address.clone()).collect()
        };
        let ready = |endpoint: &Endpoint| endpoint.state == EndpointState::Ready;
        let all = with(&ready);
        let hinted_nodes = with(&|endpoint| ready(endpoint) && !endpoint.hints.nodes.is_empty());
        let hinted_zones = with(&|endpoint| ready(endpoint) && !endpoint.hints.zones.is_empty());
        let node = with(&|endpoint| {
            ready(endpoint) && endpoint.hints.nodes.iter().any(|n| Some(n) == at.node.as_ref())
        });
        let zone = with(&|endpoint| {
            ready(endpoint) && endpoint.hints.zones.iter().any(|z| Some(z) == at.zone.as_ref())
        });
        let mut order = Vec::new();
        if hinted_nodes == all {
            order.push(node);
        }
        if hinted_zones == all {
            order.push(zone);
        }
        order.push(all);
        order.push(with(&|endpoint| endpoint.state == EndpointState::Draining));
        order.into_iter().find(|set| !set.is_empty()).unwrap_or_default()
    }

    fn hints() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![1 => Just(Vec::new()), 5 => prop::collection::vec(0..3u8, 1..3)]
    }

    proptest! {
        /// What is selected is what the words say, wherever the proxy stands.
        #[test]
        fn selection_agrees_with_the_oracle(
            given in prop::collection::vec((prop::bool::weighted(0.7), hints(), hints()), 0..6),
            zone in prop::option::of(0..3u8),
            node in prop::option::of(0..3u8),
        ) {
            let name = |number: u8| number.to_string().into();
            let at = Locality { zone: zone.map(name), node: node.map(name) };
            let endpoints = endpoints(given);
            let selection = Selection::of(&endpoints, &at);
            let taken = endpoints.endpoints.iter().filter(|endpoint| selection.takes(endpoint, &at));
            let taken: BTreeSet<EndpointAddress> = taken.map(|endpoint| endpoint.address.clone()).collect();
            prop_assert_eq!(taken, oracle(&endpoints, &at));
        }
    }
}
