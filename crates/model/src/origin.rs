//! Where a part of the model came from.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The object that a part of the model came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The kind, such as `HTTPRoute`.
    pub kind: Arc<str>,
    /// The namespace; empty for objects without one.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.kind, self.name)
        } else {
            write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
        }
    }
}

impl Origin {
    /// The object's name among those of its kind.
    #[must_use]
    pub fn qualified_name(&self) -> QualifiedName<'_> {
        QualifiedName::new(&self.namespace, &self.name)
    }
}

/// `namespace/name`, by which the Gateway API decides between objects of the same age.
///
/// Ordered as that text, not part by part: `a-b/x` comes before `a/x`, since `-` comes before `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl<'a> QualifiedName<'a> {
    /// The name of an object.
    #[must_use]
    pub const fn new(namespace: &'a str, name: &'a str) -> QualifiedName<'a> {
        QualifiedName { namespace, name }
    }

    fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        self.namespace.bytes().chain([b'/']).chain(self.name.bytes())
    }
}

impl Ord for QualifiedName<'_> {
    fn cmp(&self, other: &QualifiedName<'_>) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(other.name);
        }
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for QualifiedName<'_> {
    fn partial_cmp(&self, other: &QualifiedName<'_>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A rule of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId {
    /// The route.
    pub route: Origin,
    /// The rule's place in `spec.rules`, from 0.
    pub index: usize,
    /// The rule's own name, if it has one.
    pub name: Option<Arc<str>>,
}

/// When an object was created, as far as precedence asks: seconds since the epoch.
///
/// Objects without a creation time (from files) are equally old among themselves and younger than any
/// that has one, so their names decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age(i64);

impl Age {
    /// The age of an object without a creation time.
    pub const UNKNOWN: Age = Age(i64::MAX);

    /// Created at this second of the Unix epoch.
    #[must_use]
    pub const fn created_at(epoch_seconds: i64) -> Age {
        Age(epoch_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HTTPRouteRule.matches: ties are broken by the alphabetical order of `{namespace}/{name}`.
    #[test]
    fn names_are_ordered_as_text() {
        let texts = ["a-b/x", "a.b/x", "a/x", "a/y", "a0/x", "b/a"];
        let names: Vec<QualifiedName<'_>> = texts
            .iter()
            .filter_map(|text| text.split_once('/'))
            .map(|(a, b)| QualifiedName::new(a, b))
            .collect();
        assert!(texts.is_sorted());
        assert!(names.is_sorted());
    }
}
