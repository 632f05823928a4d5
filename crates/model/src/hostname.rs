//! Hostnames and the patterns that listeners and routes match them with.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

/// A DNS name: lower case, not empty, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname(Arc<str>);

impl Hostname {
    /// A name in its canonical form, or nothing if no character is left.
    #[must_use]
    pub fn new(name: &str) -> Option<Hostname> {
        let name = name.strip_suffix('.').unwrap_or(name);
        (!name.is_empty()).then(|| Hostname(name.to_ascii_lowercase().into()))
    }

    /// The name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a listener or a route says about hostnames.
///
/// Source: `Listener.hostname` and `HTTPRoute.spec.hostnames` field documentation. `*.example.com` matches
/// any number of labels before `.example.com`, and never `example.com` itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostPattern {
    /// Every host.
    Any,
    /// Every host that ends in a dot and this name (`*.example.com` holds `example.com`).
    Suffix(Hostname),
    /// This host alone.
    Exact(Hostname),
}

/// How specific a pattern is; the greater wins: exact, then wildcards by labels, then none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostRank {
    /// Of [`HostPattern::Any`].
    Any,
    /// Of [`HostPattern::Suffix`], by its number of labels, then its length in bytes.
    Suffix(usize, usize),
    /// Of [`HostPattern::Exact`].
    Exact,
}

impl HostPattern {
    /// The pattern that a hostname field holds: absent or empty is any, `*.` begins a wildcard.
    #[must_use]
    pub fn parse(text: &str) -> HostPattern {
        match text.strip_prefix("*.") {
            Some(rest) => Hostname::new(rest).map_or(HostPattern::Any, HostPattern::Suffix),
            None => Hostname::new(text).map_or(HostPattern::Any, HostPattern::Exact),
        }
    }

    /// Whether a host (lower case, without port and trailing dot) fits.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        match self {
            HostPattern::Any => true,
            HostPattern::Exact(name) => name.as_str() == host,
            HostPattern::Suffix(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
        }
    }

    /// Whether some host fits both.
    #[must_use]
    pub fn intersects(&self, other: &HostPattern) -> bool {
        use HostPattern::{Any, Exact, Suffix};
        match (self, other) {
            (Any, _) | (_, Any) => true,
            (Exact(name), pattern) | (pattern, Exact(name)) => pattern.matches(name.as_str()),
            (Suffix(a), Suffix(b)) => a == b || self.matches(b.as_str()) || other.matches(a.as_str()),
        }
    }

    /// How specific the pattern is.
    #[must_use]
    pub fn rank(&self) -> HostRank {
        match self {
            HostPattern::Any => HostRank::Any,
            HostPattern::Suffix(name) => {
                HostRank::Suffix(name.as_str().split('.').count(), name.as_str().len())
            }
            HostPattern::Exact(_) => HostRank::Exact,
        }
    }

    /// A key that sorts the most specific pattern first.
    #[must_use]
    pub fn most_specific_first(&self) -> Reverse<HostRank> {
        Reverse(self.rank())
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Any => f.write_str("*"),
            HostPattern::Suffix(name) => write!(f, "*.{}", name.as_str()),
            HostPattern::Exact(name) => f.write_str(name.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Listener.hostname: a wildcard is a suffix match over any number of labels, never the bare name.
    #[test]
    fn a_wildcard_matches_any_depth_but_not_its_own_name() {
        let pattern = HostPattern::parse("*.Example.com");
        assert!(pattern.matches("a.example.com"));
        assert!(pattern.matches("a.b.example.com"));
        assert!(!pattern.matches("example.com"));
        assert!(!pattern.matches(".example.com"));
        assert!(!pattern.matches("badexample.com"));
    }

    /// Two wildcards share hosts when one's names are a part of the other's.
    #[test]
    fn wildcards_intersect_when_nested() {
        let intersects = |a: &str, b: &str| HostPattern::parse(a).intersects(&HostPattern::parse(b));
        assert!(intersects("*.e.com", "*.a.e.com"));
        assert!(intersects("*.a.e.com", "*.e.com"));
        assert!(intersects("*.e.com", "x.e.com"));
        assert!(!intersects("*.e.com", "e.com"));
        assert!(!intersects("*.e.com", "*.f.com"));
        assert!(intersects("", "x.e.com"));
    }

    /// Gateway.spec.listeners: exact first, then the wildcard with most labels, then none.
    #[test]
    fn exact_outranks_wildcards_outrank_any() {
        let rank = |text: &str| HostPattern::parse(text).rank();
        assert!(rank("a.b") > rank("*.very.long.example.com"));
        assert!(rank("*.a.b.c") > rank("*.longername.com"));
        assert!(rank("*.com") > rank(""));
    }
}
