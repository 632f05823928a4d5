//! What is done with every request of a listener before a rule is looked for.

use std::slice;

use crate::{ClusterKey, ExternalAuth, Failure};

/// Filters that run on every request of a listener, whether or not a rule takes it. Rules are then matched once, on what
/// these leave of the request.
///
/// Source: `Gateway.spec.listeners.filters.requests`, GEP-5224.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerFilters {
    /// These services are asked, in this order; the first that refuses ends the request. None: nothing is done.
    Ask(Vec<ExternalAuth>),
    /// Some filter cannot be run, so every request is answered with this: none passes unfiltered.
    Fail(Failure),
}

impl ListenerFilters {
    /// Whether nothing is done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, ListenerFilters::Ask(asked) if asked.is_empty())
    }

    /// The clusters that the filters lead to.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterKey> {
        let asked = match self {
            ListenerFilters::Ask(asked) => asked.iter(),
            ListenerFilters::Fail(_) => slice::Iter::default(),
        };
        asked.map(|auth| &auth.cluster)
    }
}

impl Default for ListenerFilters {
    fn default() -> ListenerFilters {
        ListenerFilters::Ask(Vec::new())
    }
}
