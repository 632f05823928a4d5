//! Backends that a Gateway must not reach: a policy that guards them is not in effect for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_model::{
    Action, ClusterKey, Failure, FailureReason, Forward, L4Route, ListenerFilters, Route, Rule, Target,
};

use crate::backends::ClusterOf;
use crate::causes::GATEWAY_POLICY_UNAPPLIED;
use crate::origin::origin;
use crate::view::View;

/// Takes from routes, and from the filters of listeners, what leads to backends that these policies guard.
pub(super) struct Withheld<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) policies: Arc<BTreeSet<ObjectKey>>,
}

impl Withheld<'_> {
    pub(super) fn requests(&self, routes: Vec<Arc<Route>>) -> Vec<Arc<Route>> {
        if self.policies.is_empty() {
            return routes;
        }
        let judge = |route: Arc<Route>| {
            let rules = route.rules.iter().map(|rule| self.rule(rule)).collect();
            Arc::new(Route { rules, ..(*route).clone() })
        };
        routes.into_iter().map(judge).collect()
    }

    pub(super) fn l4(&self, routes: Vec<Arc<L4Route>>) -> Vec<Arc<L4Route>> {
        if self.policies.is_empty() {
            return routes;
        }
        let judge = |route: Arc<L4Route>| {
            let mut route = (*route).clone();
            route.backends.iter_mut().for_each(|backend| self.target(&mut backend.target));
            Arc::new(route)
        };
        routes.into_iter().map(judge).collect()
    }

    /// A service that is not to be reached cannot be asked, so nothing passes.
    pub(super) fn filters(&self, filters: &ListenerFilters) -> ListenerFilters {
        match filters.clusters().any(|cluster| self.is_guarded(cluster)) {
            true => ListenerFilters::Fail(failure()),
            false => filters.clone(),
        }
    }

    fn rule(&self, rule: &Arc<Rule>) -> Arc<Rule> {
        let beside = rule.mirrors().map(|mirror| &mirror.cluster);
        if beside.chain(rule.auths().map(|auth| &auth.cluster)).any(|cluster| self.is_guarded(cluster)) {
            let action = Action::Fail(failure());
            return Arc::new(Rule { filters: Vec::new(), action, ..(**rule).clone() });
        }
        let Action::Forward(Forward { mut backends }) = rule.action.clone() else { return Arc::clone(rule) };
        backends.iter_mut().for_each(|backend| self.target(&mut backend.target));
        Arc::new(Rule { action: Action::Forward(Forward { backends }), ..(**rule).clone() })
    }

    fn target(&self, target: &mut Target) {
        if matches!(target, Target::Cluster(cluster) if self.is_guarded(cluster)) {
            *target = Target::Fail(failure());
        }
    }

    fn is_guarded(&self, cluster: &ClusterKey) -> bool {
        if self.policies.is_empty() {
            return false;
        }
        let cluster = self.view.get(&ClusterOf { key: cluster.clone() });
        let policy = cluster.tls.as_ref().map(|tls| &tls.origin);
        policy.is_some_and(|policy| self.policies.iter().any(|unapplied| origin(unapplied) == *policy))
    }
}

fn failure() -> Failure {
    Failure {
        status: 500,
        reason: FailureReason::BackendGuarded,
        message: GATEWAY_POLICY_UNAPPLIED.rule.summary.into(),
    }
}
