//! For whom endpoints are meant: what EndpointSlices say, or would if a cluster had written them.

use std::sync::Arc;

use portcullis_api::k8s_openapi::api::core::v1::Service;
use portcullis_api::k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints};
use portcullis_model::Hints;

/// Annotations of Services whose hints a cluster gives and takes by the load of its zones (KEP-2433): that there are
/// none means something.
const BY_LOAD: [&str; 2] =
    ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];

/// What a Service wants of its endpoints.
///
/// Source: `Service.spec.trafficDistribution` field documentation, KEP-4444, KEP-3015.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// Nothing, or nothing that is known.
    Any,
    /// That those of the same zone are preferred.
    SameZone,
    /// That those of the same node are preferred, and then those of the same zone.
    SameNode,
}

impl Distribution {
    pub(super) fn of(service: &Service) -> Distribution {
        let annotations = service.metadata.annotations.as_ref();
        if annotations.is_some_and(|all| BY_LOAD.iter().any(|name| all.contains_key(*name))) {
            return Distribution::Any;
        }
        match service.spec.as_ref().and_then(|spec| spec.traffic_distribution.as_deref()) {
            Some("PreferClose" | "PreferSameZone") => Distribution::SameZone,
            Some("PreferSameNode") => Distribution::SameNode,
            _ => Distribution::Any,
        }
    }

    /// For whom an endpoint is meant. Where its slice says nothing, as in files or in slices that are written by hand,
    /// it is what a cluster would write: that it is for where it is.
    pub(super) fn hints(self, endpoint: &Endpoint) -> Hints {
        let written = endpoint.hints.as_ref().map(read).filter(|hints| *hints != Hints::default());
        written.unwrap_or_else(|| Hints {
            zones: if self == Distribution::Any { Vec::new() } else { place(endpoint.zone.as_ref()) },
            nodes: if self == Distribution::SameNode {
                place(endpoint.node_name.as_ref())
            } else {
                Vec::new()
            },
        })
    }
}

fn read(hints: &EndpointHints) -> Hints {
    Hints {
        zones: hints.for_zones.iter().flatten().map(|zone| zone.name.as_str().into()).collect(),
        nodes: hints.for_nodes.iter().flatten().map(|node| node.name.as_str().into()).collect(),
    }
}

fn place(name: Option<&String>) -> Vec<Arc<str>> {
    name.map(|name| name.as_str().into()).into_iter().collect()
}
