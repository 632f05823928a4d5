//! Which of two matches wins.

use std::cmp::Reverse;

use portcullis_model::{Age, Match, QualifiedName, ValueMatch};

use crate::paths::PathKey;

/// What decides between two matches of a listener that both take a request, in this order.
///
/// Source: HTTPRouteRule.matches field documentation, with the route's own hostname first
/// (GatewayRouteHostnameIntersectionPrecedence). Regular expressions stand between exact paths and prefixes,
/// the longer pattern first: a decision of ours where the API leaves it to implementations. Between calls, by
/// GRPCRouteRule.matches: characters of the service, then of the method, regular expressions by their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criterion {
    /// A GRPCRoute over an HTTPRoute, for a gRPC call.
    Kind,
    /// The more specific hostname of the route.
    Hostname,
    /// Exact path, then regular expression, then prefix.
    PathKind,
    /// The longer prefix (a trailing slash not counted), or the longer regular expression.
    PathLength,
    /// More characters of the gRPC service.
    Service,
    /// More characters of the gRPC method.
    Call,
    /// A method over none.
    Method,
    /// More header matches.
    Headers,
    /// More query parameter matches.
    Query,
    /// The older route.
    Age,
    /// The route that is first by namespace and name.
    Name,
    /// The earlier rule of a route.
    RuleOrder,
    /// The earlier match of a rule.
    MatchOrder,
}

/// What precedence asks of a match itself. The lesser is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    kind: PathKind,
    /// Of a path, or of a gRPC service.
    length: Reverse<u32>,
    /// Whether there is a method, or the length of a gRPC method.
    method: Reverse<u32>,
    headers: Reverse<u16>,
    query: Reverse<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathKind {
    Exact,
    Pattern,
    Prefix,
    Call,
}

impl Shape {
    /// The shape of a match with this path.
    pub(crate) fn of(matched: &Match, path: &PathKey<'_>) -> Shape {
        let characters =
            |value: &Option<ValueMatch>| value.as_ref().map_or(0, |value| value.as_str().chars().count());
        let (kind, length_of) = match path {
            PathKey::Exact(_) => (PathKind::Exact, 0), // of two that match one path none is longer
            PathKey::Pattern(pattern) => (PathKind::Pattern, pattern.as_str().len()),
            PathKey::Prefix(prefix) => (PathKind::Prefix, prefix.len()),
            PathKey::Call(call) => (PathKind::Call, characters(&call.service)),
        };
        let method = match path {
            PathKey::Call(call) => characters(&call.method),
            _ => usize::from(matched.method.is_some()),
        };
        let count = |count: usize| Reverse(u16::try_from(count).unwrap_or(u16::MAX));
        let length = |length: usize| Reverse(u32::try_from(length).unwrap_or(u32::MAX));
        Shape {
            kind,
            length: length(length_of),
            method: length(method),
            headers: count(matched.headers.len()),
            query: count(matched.query.len()),
        }
    }

    /// Whether the match asks for nothing but its path.
    pub(crate) fn is_bare(self) -> bool {
        let method = !self.is_call() && self.method != Reverse(0);
        !method && (self.headers, self.query) == (Reverse(0), Reverse(0))
    }

    /// Whether the match is of a GRPCRoute.
    pub(crate) fn is_call(self) -> bool {
        self.kind == PathKind::Call
    }

    /// The length of the match's prefix, if it is one.
    pub(crate) fn prefix_len(self) -> Option<usize> {
        (self.kind == PathKind::Prefix).then_some(self.length.0 as usize)
    }
}

/// A match's place among all of its hostname. The lesser is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank<'t> {
    pub(crate) shape: Shape,
    pub(crate) age: Age,
    /// The route.
    pub(crate) name: QualifiedName<'t>,
    pub(crate) rule: usize,
    pub(crate) matched: usize,
}

impl Rank<'_> {
    /// The first criterion by which two differ.
    pub(crate) fn decider(&self, other: &Rank<'_>) -> Criterion {
        let (one, two) = (&self.shape, &other.shape);
        let (length, method) = match one.kind {
            PathKind::Call => (Criterion::Service, Criterion::Call),
            _ => (Criterion::PathLength, Criterion::Method),
        };
        let differences = [
            (one.kind != two.kind, Criterion::PathKind),
            (one.length != two.length, length),
            (one.method != two.method, method),
            (one.headers != two.headers, Criterion::Headers),
            (one.query != two.query, Criterion::Query),
            (self.age != other.age, Criterion::Age),
            (self.name != other.name, Criterion::Name),
            (self.rule != other.rule, Criterion::RuleOrder),
        ];
        let first = differences.iter().find(|(differs, _)| *differs);
        first.map_or(Criterion::MatchOrder, |(_, criterion)| *criterion)
    }
}
