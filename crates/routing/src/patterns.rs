//! The regular expressions of a host.

use std::sync::Arc;

use portcullis_model::{Pattern, Route};

use crate::candidate::Candidate;
use crate::prefilter::{Prefilter, first_bytes};
use crate::{HeaderSource, Request};

/// Regular expressions in the order of precedence. A lookup costs their number: a comparison each, and an
/// evaluation for each whose literals the path has.
pub(crate) struct Patterns<T>(Vec<Filtered<T>>);

struct Filtered<T> {
    prefilter: Prefilter,
    pattern: Pattern,
    candidate: Candidate<T>,
}

impl<T> Clone for Filtered<T> {
    fn clone(&self) -> Self {
        Filtered {
            prefilter: self.prefilter.clone(),
            pattern: self.pattern.clone(),
            candidate: self.candidate.clone(),
        }
    }
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Patterns(Vec::new())
    }
}

impl<T> Clone for Patterns<T> {
    fn clone(&self) -> Self {
        Patterns(self.0.clone())
    }
}

impl<T> Patterns<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn find<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<&'t Candidate<T>> {
        let path = request.path.as_bytes();
        let first = first_bytes(path);
        let fits = |one: &&Filtered<T>| {
            one.prefilter.admits(first, path) && one.pattern.matches(path) && one.candidate.takes(request)
        };
        self.0.iter().find(fits).map(|one| &one.candidate)
    }

    pub(crate) fn insert(&mut self, pattern: &Pattern, candidate: Candidate<T>) {
        let at = self.0.partition_point(|other| other.candidate.rank() < candidate.rank());
        let prefilter = Prefilter::of(pattern);
        self.0.insert(at, Filtered { prefilter, pattern: pattern.clone(), candidate });
    }

    pub(crate) fn remove(&mut self, route: &Arc<Route>) {
        self.0.retain(|one| !Arc::ptr_eq(&one.candidate.entry.route, route));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Candidate<T>> {
        self.0.iter().map(|one| &one.candidate)
    }
}
