//! Routes, their rules and what a rule does with a request.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    Age, ClusterKey, Cors, ExternalAuth, Filter, HostPattern, Match, Mirror, Origin, Redirect, Retry, RuleId,
};

/// A route as one listener takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The route object.
    pub origin: Origin,
    /// When it was created: the older of two equal matches wins.
    pub age: Age,
    /// The route's own hostnames, never their intersection with a listener's; `[Any]` if it names none.
    pub hostnames: Vec<HostPattern>,
    /// Its rules in order, invalid ones included: they answer with [`Action::Fail`].
    pub rules: Vec<Arc<Rule>>,
}

/// One rule of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which rule this is.
    pub id: RuleId,
    /// Any of these takes the request; never empty.
    pub matches: Vec<Match>,
    /// Filters on requests and answers, in order.
    pub filters: Vec<Filter>,
    /// What becomes of a request.
    pub action: Action,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// What is tried again. Without it a connection that cannot be made is followed by one to another endpoint.
    pub retry: Option<Retry>,
}

impl Rule {
    /// Who is asked whether a request may pass, in order.
    pub fn auths(&self) -> impl Iterator<Item = &ExternalAuth> {
        self.filters.iter().filter_map(|filter| match filter {
            Filter::Auth(auth) => Some(auth),
            _ => None,
        })
    }

    /// Where copies of requests go.
    pub fn mirrors(&self) -> impl Iterator<Item = &Mirror> {
        self.filters.iter().filter_map(|filter| match filter {
            Filter::Mirror(mirror) => Some(mirror),
            _ => None,
        })
    }

    /// What browsers are told about requests of other origins, if anything.
    #[must_use]
    pub fn cors(&self) -> Option<&Cors> {
        self.filters.iter().find_map(|filter| match filter {
            Filter::Cors(cors) => Some(cors),
            _ => None,
        })
    }
}

/// What becomes of a request that a rule takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is sent to one of these backends.
    Forward(Forward),
    /// It is answered with a redirect.
    Redirect(Redirect),
    /// It is answered with an error.
    Fail(Failure),
}

/// The backends that share a rule's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// In the order of `backendRefs`; at least one has a weight above 0.
    pub backends: Vec<WeightedBackend>,
}

/// A backend and its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedBackend {
    /// The object that the reference names, whether or not it exists.
    pub origin: Origin,
    /// The port that the reference names.
    pub port: Option<u16>,
    /// Its part of the sum of weights, 0 to 1,000,000.
    pub weight: u32,
    /// Where its share goes.
    pub target: Target,
    /// Filters on its share alone, applied after the rule's.
    pub filters: Vec<Filter>,
}

/// Where a backend's share goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To an endpoint of this cluster; without a usable endpoint the answer is 503.
    Cluster(ClusterKey),
    /// It is answered with an error.
    Fail(Failure),
}

/// An error that the configuration demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status, 500 or 503.
    pub status: u16,
    /// Why, as the access log and the metrics say it.
    pub reason: FailureReason,
    /// Why, to a person who reads `explain`.
    pub message: Arc<str>,
}

/// Why the configuration makes a request fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureReason {
    /// The rule is invalid.
    RuleInvalid,
    /// A filter of the rule, or of its listener, cannot be run, or refers to what cannot be used.
    FilterUnresolved,
    /// The backend does not exist, may not be referred to, or cannot be spoken to.
    BackendInvalid,
    /// The backend is guarded by something that this engine cannot yet enforce.
    BackendGuarded,
    /// The rule names no backend.
    NoBackends,
    /// All weights are zero.
    ZeroWeight,
}

impl FailureReason {
    /// The reason code of access log, metrics and `explain`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureReason::RuleInvalid => "rule_invalid",
            FailureReason::FilterUnresolved => "filter_unresolved",
            FailureReason::BackendInvalid => "backend_invalid",
            FailureReason::BackendGuarded => "backend_guarded",
            FailureReason::NoBackends => "no_backends",
            FailureReason::ZeroWeight => "zero_weight",
        }
    }
}

/// How long a request may take; none means no bound.
///
/// Source: HTTPRouteTimeouts. Both run to the end of the answer; an upgraded connection is free of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// All attempts together.
    pub request: Option<Duration>,
    /// Each attempt.
    pub backend_request: Option<Duration>,
}
