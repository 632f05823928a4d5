//! What a route means, wherever it attaches.

use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{Cluster, ClusterKey, Route};

use crate::attachment::TakenBy;
use crate::backends::ClusterOf;
use crate::causes::Cause;
use crate::finding::{Finding, messages};
use crate::http_routes;
use crate::memo::Query;
use crate::view::View;

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
}

impl ServedRoute {
    /// The route, if it takes requests.
    pub(crate) fn http(&self) -> Option<&Arc<Route>> {
        let ServedRoute::Http(route) = self;
        Some(route)
    }

    fn clusters(&self) -> Vec<ClusterKey> {
        match self {
            ServedRoute::Http(route) => http_routes::clusters(route).collect(),
        }
    }
}

impl Query for Meaning {
    type Value = Option<RouteMeaning>;

    fn compute(&self, view: &View<'_>) -> Option<RouteMeaning> {
        let mut meaning = match self.route.kind {
            Kind::HttpRoute => http_routes::read(view, &self.route)?,
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
