//! What a request must be like for a rule to take it.

use std::sync::Arc;

use crate::{HeaderName, Pattern};

/// One entry of a rule's `matches`; all of its predicates must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The path; an absent `path` is `Prefix("/")`.
    pub path: PathMatch,
    /// The method, compared exactly; none means any.
    pub method: Option<Arc<str>>,
    /// Headers, one entry a name (of repeated names only the first counts).
    pub headers: Vec<HeaderMatch>,
    /// Query parameters, one entry a name (of repeated names only the first counts).
    pub query: Vec<QueryMatch>,
}

/// What a path must be like. Paths are compared in their canonical form, case-sensitively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMatch {
    /// This path alone; `/two/` is not `/two`.
    Exact(Arc<str>),
    /// This path and all below it, by path elements: `/v2` takes `/v2` and `/v2/x`, not `/v2x`. Held without
    /// a trailing slash; the root is empty.
    Prefix(Arc<str>),
    /// The whole path matches.
    Regex(Pattern),
}

/// A header that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    /// The header's name.
    pub name: HeaderName,
    /// What its value must be like. Several fields of the name count as one, joined by commas (RFC 9110 §5.3).
    pub value: ValueMatch,
}

/// A query parameter that must be there; the first of its name counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryMatch {
    /// The parameter's name, compared exactly after percent-decoding.
    pub name: Arc<str>,
    /// What its value must be like, after percent-decoding.
    pub value: ValueMatch,
}

/// What a value must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueMatch {
    /// This value alone.
    Exact(Arc<str>),
    /// The whole value matches.
    Regex(Pattern),
}
