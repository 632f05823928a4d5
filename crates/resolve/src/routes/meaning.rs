//! What a route means, wherever it attaches.

use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{Cluster, ClusterKey, L4Route, Route};

use crate::attachment::TakenBy;
use crate::backends::ClusterOf;
use crate::causes::Cause;
use crate::finding::{Finding, messages};
use crate::memo::Query;
use crate::view::View;
use crate::{grpc_routes, http_routes, l4_routes};

/// What a route means. Nothing if it does not exist, or is of a kind that is not served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Meaning {
    pub(crate) route: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteMeaning {
    pub(crate) route: ServedRoute,
    /// Why the whole route is refused: all of its rules are invalid.
    pub(crate) refusal: Option<RouteRefusal>,
    /// Which rules were dropped while others serve.
    pub(crate) dropped: Option<Arc<str>>,
    /// References that do not resolve, the gravest first.
    pub(crate) unresolved: Vec<Finding>,
    /// Everything found, these and others.
    pub(crate) findings: Vec<Finding>,
}

pub(crate) type RouteRefusal = (&'static Cause, Arc<str>);

/// A route in the model, by what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServedRoute {
    /// Requests.
    Http(Arc<Route>),
    /// gRPC calls.
    Grpc(Arc<Route>),
    /// TLS connections, where TLS is ended here and where it is passed through: what guards a backend concerns the one
    /// alone.
    Tls { terminated: Arc<L4Route>, passed_through: Arc<L4Route> },
    /// Connections or datagrams.
    L4(Arc<L4Route>),
}

impl RouteMeaning {
    /// Of a route that has nothing to be refused for.
    pub(crate) fn plain(
        route: ServedRoute,
        unresolved: Vec<Finding>,
        findings: Vec<Finding>,
    ) -> RouteMeaning {
        RouteMeaning { route, refusal: None, dropped: None, unresolved, findings }
    }
}

impl ServedRoute {
    /// The route, if it takes requests.
    pub(crate) fn http(&self) -> Option<&Arc<Route>> {
        match self {
            ServedRoute::Http(route) => Some(route),
            ServedRoute::Grpc(_) | ServedRoute::Tls { .. } | ServedRoute::L4(_) => None,
        }
    }

    /// The route, if it takes gRPC calls.
    pub(crate) fn grpc(&self) -> Option<&Arc<Route>> {
        match self {
            ServedRoute::Grpc(route) => Some(route),
            _ => None,
        }
    }

    /// The route, if it takes connections or datagrams.
    pub(crate) fn l4(&self) -> Option<&Arc<L4Route>> {
        match self {
            ServedRoute::L4(route) | ServedRoute::Tls { terminated: route, .. } => Some(route),
            ServedRoute::Http(_) | ServedRoute::Grpc(_) => None,
        }
    }

    /// The route, if it takes TLS connections that are passed through.
    pub(crate) fn passed_through(&self) -> Option<&Arc<L4Route>> {
        match self {
            ServedRoute::Tls { passed_through, .. } => Some(passed_through),
            ServedRoute::Http(_) | ServedRoute::Grpc(_) | ServedRoute::L4(_) => None,
        }
    }

    fn clusters(&self) -> Vec<ClusterKey> {
        match self {
            ServedRoute::Http(route) | ServedRoute::Grpc(route) => http_routes::clusters(route).collect(),
            ServedRoute::L4(route) => l4_routes::clusters(route).collect(),
            ServedRoute::Tls { terminated, passed_through } => {
                l4_routes::clusters(terminated).chain(l4_routes::clusters(passed_through)).collect()
            }
        }
    }
}

impl Query for Meaning {
    type Value = Option<RouteMeaning>;

    fn compute(&self, view: &View<'_>) -> Option<RouteMeaning> {
        if !view.engine().capabilities.route_kinds.contains(&self.route.kind) {
            return None;
        }
        let mut meaning = match self.route.kind {
            Kind::HttpRoute => http_routes::read(view, &self.route)?,
            Kind::GrpcRoute => grpc_routes::read(view, &self.route)?,
            Kind::TlsRoute | Kind::TcpRoute | Kind::UdpRoute => l4_routes::read(view, &self.route)?,
            _ => return None,
        };
        meaning.unresolved.sort_by_key(|finding| rank(finding.cause.reason));
        Some(meaning)
    }
}

/// What invalid rules come to, where each rule has these findings: all of them refuse the route, some are dropped.
///
/// Source: `RouteConditionPartiallyInvalid`, whose message must begin with "Dropped Rule".
pub(crate) fn verdict(rules: &[&[Finding]]) -> (Option<RouteRefusal>, Option<Arc<str>>) {
    let invalid: Vec<(usize, &Finding)> = rules
        .iter()
        .enumerate()
        .flat_map(|(index, invalid)| invalid.iter().map(move |finding| (index, finding)))
        .collect();
    let Some((_, first)) = invalid.first() else { return (None, None) };
    if rules.iter().all(|invalid| !invalid.is_empty()) {
        return (Some((first.cause, messages(invalid.iter().map(|(_, finding)| *finding)).into())), None);
    }
    let texts: Vec<String> =
        invalid.iter().map(|(index, finding)| format!("Dropped Rule {index}: {}", finding.message)).collect();
    (None, Some(texts.join("; ").into()))
}

/// Which reason is given where several references do not resolve.
fn rank(reason: &str) -> usize {
    const ORDER: [&str; 5] =
        ["BackendNotFound", "InvalidKind", "RefNotPermitted", "UnsupportedProtocol", "UnsupportedValue"];
    ORDER.iter().position(|other| *other == reason).unwrap_or(ORDER.len())
}

/// The clusters that a route leads to, where a listener takes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RouteClusters {
    pub(crate) route: ObjectKey,
}

impl Query for RouteClusters {
    type Value = Vec<Arc<Cluster>>;

    fn compute(&self, view: &View<'_>) -> Vec<Arc<Cluster>> {
        let taken = view.get(&TakenBy { route: self.route.clone() });
        let Some(taken) = taken.as_ref() else { return Vec::new() };
        let mut clusters = taken.route.clusters();
        clusters.sort();
        clusters.dedup();
        clusters.into_iter().map(|key| Arc::clone(&*view.get(&ClusterOf { key }))).collect()
    }
}
