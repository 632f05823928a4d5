//! [`Age`]: which of two versions of an object is the newer.

use std::sync::Arc;

/// How old a version of an object is.
///
/// `metadata.resourceVersion` is a number that grows with every write of the resource (KEP-5504).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Age {
    text: Arc<str>,
    number: Option<u128>,
}

impl Age {
    pub(crate) fn new(resource_version: &str) -> Self {
        Self { text: resource_version.into(), number: resource_version.parse().ok() }
    }

    /// Whether this is newer; versions that are no numbers are in the order in which they come.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        match (self.number, other.number) {
            (Some(this), Some(other)) => this > other,
            _ => self.text != other.text,
        }
    }

    /// Whether this is surely newer: what happened at the other time is over.
    pub(crate) fn is_beyond(&self, other: &Self) -> bool {
        matches!((self.number, other.number), (Some(this), Some(other)) if this > other)
    }
}
