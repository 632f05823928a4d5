//! What a request must be like for a rule to take it.

use std::fmt;
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

/// What a path must be like. Paths are compared in their canonical form, case-sensitively. Matches of HTTPRoutes ask
/// for paths, those of GRPCRoutes for calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMatch {
    /// This path alone; `/two/` is not `/two`.
    Exact(Arc<str>),
    /// This path and all below it, by path elements: `/v2` takes `/v2` and `/v2/x`, not `/v2x`. Held without
    /// a trailing slash; the root is empty.
    Prefix(Arc<str>),
    /// The whole path matches.
    Regex(Pattern),
    /// The path names such a gRPC call.
    Call(CallMatch),
}

/// What the service and method of a gRPC call must be like.
///
/// Source: GRPCMethodMatch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallMatch {
    /// The service with its package; none means any.
    pub service: Option<ValueMatch>,
    /// The method; none means any.
    pub method: Option<ValueMatch>,
}

impl fmt::Display for CallMatch {
    /// As the path would be, with `*` for any name and `~` before a regular expression.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in [&self.service, &self.method] {
            match name {
                None => f.write_str("/*")?,
                Some(ValueMatch::Exact(text)) => write!(f, "/{text}")?,
                Some(ValueMatch::Regex(pattern)) => write!(f, "/~{}", pattern.as_str())?,
            }
        }
        Ok(())
    }
}

impl CallMatch {
    /// Service and method of a path; nothing if it names no call.
    ///
    /// Source: gRPC over HTTP2, "Requests": `Path → ":path" "/" Service-Name "/" {method name}`.
    #[must_use]
    pub fn split(path: &str) -> Option<(&str, &str)> {
        let (service, method) = path.strip_prefix('/')?.rsplit_once('/')?;
        (!service.is_empty() && !method.is_empty()).then_some((service, method))
    }

    /// Whether a canonical path names such a call. One that asks for nothing takes every path.
    #[must_use]
    pub fn takes(&self, path: &str) -> bool {
        if self.service.is_none() && self.method.is_none() {
            return true;
        }
        let fits = |wanted: &Option<ValueMatch>, name: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.takes(name.as_bytes()))
        };
        CallMatch::split(path)
            .is_some_and(|(service, method)| fits(&self.service, service) && fits(&self.method, method))
    }
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

impl ValueMatch {
    /// Whether a value is so.
    #[must_use]
    pub fn takes(&self, value: &[u8]) -> bool {
        match self {
            ValueMatch::Exact(text) => text.as_bytes() == value,
            ValueMatch::Regex(pattern) => pattern.matches(value),
        }
    }

    /// The value, or the regular expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ValueMatch::Exact(text) => text,
            ValueMatch::Regex(pattern) => pattern.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_call_by_two_parts() {
        assert_eq!(CallMatch::split("/a.b.C/Get"), Some(("a.b.C", "Get")));
        assert_eq!(CallMatch::split("/a/b/Get"), Some(("a/b", "Get")));
        for path in ["/", "/a", "/a/", "//b", "a/b", "*", ""] {
            assert_eq!(CallMatch::split(path), None, "{path:?}");
        }
    }

    #[test]
    fn what_a_match_does_not_ask_for_is_any() {
        let exact = |text: &str| Some(ValueMatch::Exact(text.into()));
        let service = CallMatch { service: exact("a.C"), method: None };
        assert!(service.takes("/a.C/Get") && !service.takes("/a.D/Get") && !service.takes("/a.C"));
        let method = CallMatch { service: None, method: exact("Get") };
        assert!(method.takes("/a.C/Get") && !method.takes("/a.C/get"));
        assert!(CallMatch::default().takes("/anything"));
        let pattern = CallMatch { service: Pattern::new("a\\..*").ok().map(ValueMatch::Regex), method: None };
        assert!(pattern.takes("/a.C/Get") && !pattern.takes("/b.a.C/Get"));
    }
}
