//! HTTPRoutes: what they mean, wherever they attach.

mod filters;
mod matches;
mod rules;
mod status;

use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_model::{ClusterKey, Route};

use crate::age::age;
use crate::attachment::{TakenBy, hostnames};
use crate::causes::Cause;
use crate::finding::{Finding, messages};
use crate::memo::Query;
use crate::origin::origin;
use crate::view::View;
use rules::{RuleMeaning, RuleOf};
pub(crate) use status::RouteOutcome;

/// What an HTTPRoute means. Nothing if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Meaning {
    pub(crate) route: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteMeaning {
    pub(crate) route: Arc<Route>,
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

impl Query for Meaning {
    type Value = Option<RouteMeaning>;

    fn compute(&self, view: &View<'_>) -> Option<RouteMeaning> {
        let object = view.http_route(&self.route)?;
        let rules: Vec<Arc<RuleMeaning>> = (0..object.spec.rules.len())
            .map(|index| view.get(&RuleOf { route: self.route.clone(), index }))
            .collect();
        let mut unresolved: Vec<Finding> =
            rules.iter().flat_map(|rule| rule.unresolved.iter().cloned()).collect();
        unresolved.sort_by_key(|finding| rank(finding.cause.reason));
        let mut findings: Vec<Finding> = Vec::new();
        for rule in &rules {
            findings.extend(rule.invalid.iter().chain(&rule.unresolved).chain(&rule.notes).cloned());
        }
        let route = Route {
            origin: origin(&self.route),
            age: age(&object.metadata),
            hostnames: hostnames(&object),
            rules: rules.iter().filter_map(|rule| rule.rule.clone()).collect(),
        };
        let (refusal, dropped) = verdict(&rules);
        Some(RouteMeaning { route: Arc::new(route), refusal, dropped, unresolved, findings })
    }
}

/// Invalid rules: all of them refuse the route, some are dropped.
///
/// Source: `RouteConditionPartiallyInvalid`, whose message must begin with "Dropped Rule".
fn verdict(rules: &[Arc<RuleMeaning>]) -> (Option<RouteRefusal>, Option<Arc<str>>) {
    let invalid: Vec<(usize, &Finding)> = rules
        .iter()
        .enumerate()
        .flat_map(|(index, rule)| rule.invalid.iter().map(move |finding| (index, finding)))
        .collect();
    let Some((_, first)) = invalid.first() else { return (None, None) };
    if rules.iter().all(|rule| !rule.invalid.is_empty()) {
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
    type Value = Vec<ClusterKey>;

    fn compute(&self, view: &View<'_>) -> Vec<ClusterKey> {
        let taken = view.get(&TakenBy { route: self.route.clone() });
        let Some((route, _)) = taken.as_ref() else { return Vec::new() };
        let mut clusters: Vec<ClusterKey> =
            route.rules.iter().flat_map(|rule| rules::clusters(rule)).collect();
        clusters.sort();
        clusters.dedup();
        clusters
    }
}
