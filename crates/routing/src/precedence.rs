//! Which of two matches wins.

use std::cmp::Reverse;

use portcullis_model::{Age, Match, PathMatch, QualifiedName};

/// What decides between two matches of a listener that both take a request, in this order.
///
/// Source: HTTPRouteRule.matches field documentation, with the route's own hostname first
/// (GatewayRouteHostnameIntersectionPrecedence). Regular expressions stand between exact paths and prefixes,
/// the longer pattern first: a decision of ours where the API leaves it to implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criterion {
    /// The more specific hostname of the route.
    Hostname,
    /// Exact path, then regular expression, then prefix.
    PathKind,
    /// The longer prefix (a trailing slash not counted), or the longer regular expression.
    PathLength,
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
    length: Reverse<u32>,
    method: Reverse<bool>,
    headers: Reverse<u16>,
    query: Reverse<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathKind {
    Exact,
    Pattern,
    Prefix,
}

impl Shape {
    /// The shape of a match, whose path or pattern has this many bytes.
    pub(crate) fn of(matched: &Match, path_len: usize) -> Shape {
        let (kind, length) = match &matched.path {
            PathMatch::Exact(_) => (PathKind::Exact, 0), // of two that match one path none is longer
            PathMatch::Regex(_) => (PathKind::Pattern, path_len),
            PathMatch::Prefix(_) => (PathKind::Prefix, path_len),
        };
        let count = |count: usize| Reverse(u16::try_from(count).unwrap_or(u16::MAX));
        Shape {
            kind,
            length: Reverse(u32::try_from(length).unwrap_or(u32::MAX)),
            method: Reverse(matched.method.is_some()),
            headers: count(matched.headers.len()),
            query: count(matched.query.len()),
        }
    }

    /// Whether the match asks for nothing but its path.
    pub(crate) fn is_bare(self) -> bool {
        (self.method, self.headers, self.query) == (Reverse(false), Reverse(0), Reverse(0))
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
        let differences = [
            (one.kind != two.kind, Criterion::PathKind),
            (one.length != two.length, Criterion::PathLength),
            (one.method != two.method, Criterion::Method),
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
