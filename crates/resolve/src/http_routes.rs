//! HTTPRoutes: what they mean, wherever they attach.

mod filters;
pub(crate) mod matches;
mod rules;

use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_model::{ClusterKey, Route};

use crate::age::age;
use crate::finding::Finding;
use crate::origin::origin;
use crate::routes::{Common, RouteMeaning, ServedRoute, verdict};
use crate::view::View;
pub(crate) use filters::auth;
use rules::{RuleMeaning, RuleOf};

/// What an HTTPRoute means. Nothing if it does not exist.
pub(crate) fn read(view: &View<'_>, key: &ObjectKey) -> Option<RouteMeaning> {
    let route = view.http_route(key)?;
    meaning(view, key, route.spec.rules.len(), ServedRoute::Http)
}

/// What a route of this many rules means.
pub(crate) fn meaning(
    view: &View<'_>,
    key: &ObjectKey,
    rules: usize,
    served: impl FnOnce(Arc<Route>) -> ServedRoute,
) -> Option<RouteMeaning> {
    let common = Common::read(view, key)?;
    let rules: Vec<Arc<RuleMeaning>> =
        (0..rules).map(|index| view.get(&RuleOf { route: key.clone(), index })).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for rule in &rules {
        findings.extend(rule.invalid.iter().chain(&rule.unresolved).chain(&rule.notes).cloned());
    }
    let route = Route {
        origin: origin(key),
        age: age(common.metadata),
        hostnames: common.hostnames(),
        rules: rules.iter().filter_map(|rule| rule.rule.clone()).collect(),
    };
    let invalid: Vec<&[Finding]> = rules.iter().map(|rule| rule.invalid.as_slice()).collect();
    let (refusal, dropped) = verdict(&invalid);
    Some(RouteMeaning {
        route: served(Arc::new(route)),
        refusal,
        dropped,
        unresolved: rules.iter().flat_map(|rule| rule.unresolved.iter().cloned()).collect(),
        findings,
    })
}

/// The clusters that a route leads to, some of them more than once.
pub(crate) fn clusters(route: &Route) -> impl Iterator<Item = ClusterKey> {
    route.rules.iter().flat_map(|rule| rules::clusters(rule))
}
