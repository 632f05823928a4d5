//! Where a part of the model came from.

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
