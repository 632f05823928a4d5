//! Rules of an HTTPRoute, and of a GRPCRoute, which means the same but for its matches.

use std::sync::Arc;
use std::time::Duration;

use portcullis_api::duration::Duration as ApiDuration;
use portcullis_api::http_route::{HttpBackendRef, HttpRouteRetry, HttpRouteRule, HttpRouteTimeouts};
use portcullis_api::names::SectionName;
use portcullis_api::port::PortNumber;
use portcullis_api::{FieldPath, Kind, ObjectKey};
use portcullis_model::{
    self as model, Action, CallMatch, ClusterKey, Failure, FailureReason, Filter, Forward, Match, PathMatch,
    Rule, RuleId, Target, Timeouts, WeightedBackend,
};

use super::filters::{Filters, Of, replaces_prefix};
use super::matches;
use crate::backends::{self, Refusal};
use crate::causes::{
    RULE_BESIDE_REDIRECT, RULE_NO_BACKENDS, RULE_SESSION_NO_EFFECT, RULE_VALUE, RULE_ZERO_WEIGHT,
};
use crate::finding::{Finding, messages};
use crate::grpc_routes;
use crate::memo::Query;
use crate::origin::origin;
use crate::view::View;

/// What a rule of an HTTPRoute or GRPCRoute means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RuleOf {
    pub(crate) route: ObjectKey,
    pub(crate) index: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleMeaning {
    /// The rule in the model; nothing if no match of it can be understood.
    pub(crate) rule: Option<Arc<Rule>>,
    /// What makes the rule invalid.
    pub(crate) invalid: Vec<Finding>,
    /// References that do not resolve.
    pub(crate) unresolved: Vec<Finding>,
    /// What is worth knowing.
    pub(crate) notes: Vec<Finding>,
}

impl Query for RuleOf {
    type Value = RuleMeaning;

    fn compute(&self, view: &View<'_>) -> RuleMeaning {
        let path = FieldPath::of("spec").field("rules").index(self.index);
        let mut meaning = RuleMeaning::default();
        if self.route.kind == Kind::GrpcRoute {
            let Some(route) = view.grpc_route(&self.route) else { return meaning };
            let Some(rule) = route.spec.rules.get(self.index) else { return meaning };
            let matches = meaning.read_matches(&rule.matches, &path, any_call, grpc_routes::read_match);
            return self.mean(view, &grpc_routes::as_http(rule), matches, meaning);
        }
        let Some(route) = view.http_route(&self.route) else { return meaning };
        let Some(rule) = route.spec.rules.get(self.index) else { return meaning };
        let matches = meaning.read_matches(&rule.matches, &path, any_request, matches::read);
        self.mean(view, rule, matches, meaning)
    }
}

impl RuleOf {
    /// What a rule means that has these matches.
    fn mean(
        &self,
        view: &View<'_>,
        rule: &HttpRouteRule,
        matches: Vec<Match>,
        mut meaning: RuleMeaning,
    ) -> RuleMeaning {
        let path = FieldPath::of("spec").field("rules").index(self.index);
        let filters = Filters::read((view, &self.route), &rule.filters, Of::Rule, &path.field("filters"));
        meaning.invalid.extend_from_slice(&filters.invalid);
        let reader = BackendReader { view, route: &self.route, path: path.field("backendRefs") };
        let backends = reader.read(&rule.backend_refs, &mut meaning);
        meaning.note(rule, &filters, &path);
        let prefix =
            filters.replaces_prefix() || backends.iter().any(|backend| replaces_prefix(&backend.filters));
        if prefix && !matches.iter().all(|one| matches!(one.path, PathMatch::Prefix(_))) {
            let message = "ReplacePrefixMatch needs matches of type PathPrefix";
            meaning.invalid.push(Finding::new(&RULE_VALUE, path.clone(), message));
        }
        let action = meaning.action(&filters, backends);
        meaning.unresolved.extend(filters.unresolved);
        let unasked = filters.unasked.into_iter().map(|(finding, _)| finding);
        filters.dropped.into_iter().chain(unasked).for_each(|finding| meaning.refused(finding));
        meaning.notes.extend(filters.notes);
        if !matches.is_empty() {
            let name = rule.name.as_ref().map(SectionName::shared);
            meaning.rule = Some(Arc::new(Rule {
                id: RuleId { route: origin(&self.route), index: self.index, name },
                matches,
                filters: filters.filters,
                action,
                timeouts: timeouts(rule.timeouts.as_ref()),
                retry: rule.retry.as_ref().map(retry),
            }));
        }
        meaning
    }
}

impl RuleMeaning {
    /// The matches that can be understood; a rule without any has the one that takes everything.
    fn read_matches<M>(
        &mut self,
        source: &[M],
        path: &FieldPath,
        any: impl FnOnce() -> Match,
        read: impl Fn(&M, &FieldPath) -> Result<Match, Vec<Finding>>,
    ) -> Vec<Match> {
        if source.is_empty() {
            return vec![any()];
        }
        let mut matches = Vec::new();
        for (index, source) in source.iter().enumerate() {
            match read(source, &path.field("matches").index(index)) {
                Ok(read) => matches.push(read),
                Err(faults) => self.invalid.extend(faults),
            }
        }
        matches
    }

    /// A reference that leads nowhere, or to what cannot be spoken to.
    fn refused(&mut self, finding: Finding) {
        let list = if finding.cause.reason.is_empty() { &mut self.notes } else { &mut self.unresolved };
        list.push(finding);
    }

    fn note(&mut self, rule: &HttpRouteRule, filters: &Filters, path: &FieldPath) {
        if rule.session_persistence.is_some() {
            self.notes.push(Finding::plain(&RULE_SESSION_NO_EFFECT, path.field("sessionPersistence")));
        }
        if !self.invalid.is_empty() || !filters.unresolved.is_empty() {
        } else if filters.redirect.is_some() {
            let concerns = |filter: &Filter| matches!(filter, Filter::RequestHeaders(_) | Filter::Mirror(_));
            if filters.filters.iter().any(concerns) {
                self.notes.push(Finding::plain(&RULE_BESIDE_REDIRECT, path.field("filters")));
            }
        } else if rule.backend_refs.is_empty() {
            self.notes.push(Finding::plain(&RULE_NO_BACKENDS, path.field("backendRefs")));
        } else if rule.backend_refs.iter().all(|backend| backend.weight == 0) {
            self.notes.push(Finding::plain(&RULE_ZERO_WEIGHT, path.field("backendRefs")));
        }
    }

    /// An invalid rule, and one whose filters cannot be resolved, fails: never half a rule.
    fn action(&self, filters: &Filters, backends: Vec<WeightedBackend>) -> Action {
        let fail = |status, reason, message: String| {
            Action::Fail(Failure { status, reason, message: message.into() })
        };
        if !self.invalid.is_empty() {
            fail(500, FailureReason::RuleInvalid, messages(&self.invalid))
        } else if !filters.unresolved.is_empty() {
            fail(500, FailureReason::FilterUnresolved, messages(&filters.unresolved))
        } else if let Some((finding, reason)) = filters.unasked.first() {
            fail(500, *reason, finding.message.to_string())
        } else if let Some(redirect) = &filters.redirect {
            Action::Redirect(redirect.clone())
        } else if backends.is_empty() {
            fail(500, FailureReason::NoBackends, RULE_NO_BACKENDS.rule.summary.to_owned())
        } else if backends.iter().all(|backend| backend.weight == 0) {
            fail(503, FailureReason::ZeroWeight, RULE_ZERO_WEIGHT.rule.summary.to_owned())
        } else {
            Action::Forward(Forward { backends })
        }
    }
}

fn any_request() -> Match {
    of_path(PathMatch::Prefix("".into()))
}

fn any_call() -> Match {
    of_path(PathMatch::Call(CallMatch::default()))
}

fn of_path(path: PathMatch) -> Match {
    Match { path, method: None, headers: Vec::new(), query: Vec::new() }
}

struct BackendReader<'a> {
    view: &'a View<'a>,
    route: &'a ObjectKey,
    path: FieldPath,
}

impl BackendReader<'_> {
    fn read(&self, references: &[HttpBackendRef], meaning: &mut RuleMeaning) -> Vec<WeightedBackend> {
        let mut backends = Vec::with_capacity(references.len());
        for (index, reference) in references.iter().enumerate() {
            let path = self.path.index(index);
            let filters = Filters::read(
                (self.view, self.route),
                &reference.filters,
                Of::Backend,
                &path.field("filters"),
            );
            let (origin, resolved) = backends::resolve(self.view, self.route, &reference.into());
            let target = match resolved {
                Ok(cluster) if filters.unresolved.is_empty() => Target::Cluster(cluster),
                Ok(_) => Target::Fail(Failure {
                    status: 500,
                    reason: FailureReason::FilterUnresolved,
                    message: messages(&filters.unresolved).into(),
                }),
                Err(Refusal { cause, reason, message }) => {
                    meaning.refused(Finding::new(cause, path, message.clone()));
                    Target::Fail(Failure { status: 500, reason, message })
                }
            };
            meaning.invalid.extend(filters.invalid);
            meaning.unresolved.extend(filters.unresolved);
            meaning.notes.extend(filters.notes);
            backends.push(WeightedBackend {
                origin,
                port: reference.port.map(PortNumber::get),
                weight: reference.weight,
                target,
                filters: filters.filters,
            });
        }
        backends
    }
}

/// The clusters that a rule leads to.
pub(super) fn clusters(rule: &Rule) -> Vec<ClusterKey> {
    let auths = rule.auths().map(|auth| &auth.cluster);
    let beside = rule.mirrors().map(|mirror| &mirror.cluster).chain(auths);
    let forward = match &rule.action {
        Action::Forward(forward) => forward,
        Action::Redirect(_) => return beside.cloned().collect(),
        Action::Fail(_) => return Vec::new(),
    };
    let clusters = forward.backends.iter().filter_map(|backend| match &backend.target {
        Target::Cluster(key) => Some(key),
        Target::Fail(_) => None,
    });
    clusters.chain(beside).cloned().collect()
}

/// Source: HTTPRouteTimeouts; zero is no limit.
fn timeouts(source: Option<&HttpRouteTimeouts>) -> Timeouts {
    let limit = |duration: Option<ApiDuration>| -> Option<Duration> {
        duration.filter(|duration| !duration.is_zero()).map(ApiDuration::get)
    };
    source.map_or_else(Timeouts::default, |source| Timeouts {
        request: limit(source.request),
        backend_request: limit(source.backend_request),
    })
}

/// Source: HTTPRouteRetry. Admission has seen to the ranges.
fn retry(source: &HttpRouteRetry) -> model::Retry {
    model::Retry {
        codes: source.codes.iter().filter_map(|code| u16::try_from(*code).ok()).collect(),
        attempts: u32::try_from(source.attempts).unwrap_or(u32::MAX),
        backoff: source.backoff.map_or(model::Retry::DEFAULT_BACKOFF, ApiDuration::get),
    }
}
