//! A match of a rule, as tables hold it.

use std::sync::Arc;

use portcullis_model::{Match, PathMatch, Route, Rule};

use crate::precedence::{Rank, Shape};
use crate::predicates::unmet;
use crate::{HeaderSource, Mismatch, Request};

/// A rule as one listener has it, with what the engine compiled it to.
#[derive(Debug)]
pub struct Entry<T> {
    pub(crate) route: Arc<Route>,
    pub(crate) rule: Arc<Rule>,
    pub(crate) compiled: T,
}

impl<T> Entry<T> {
    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &Arc<Rule> {
        &self.rule
    }

    /// The route that the rule is of.
    #[must_use]
    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// What the rule was compiled to when the table was built.
    #[must_use]
    pub fn compiled(&self) -> &T {
        &self.compiled
    }
}

/// A match of a rule.
#[derive(Debug)]
pub(crate) struct Candidate<T> {
    pub(crate) entry: Arc<Entry<T>>,
    pub(crate) shape: Shape,
    pub(crate) match_index: u32,
}

impl<T> Clone for Candidate<T> {
    fn clone(&self) -> Self {
        Candidate { entry: Arc::clone(&self.entry), ..*self }
    }
}

impl<T> Candidate<T> {
    /// The match. It is there: candidates are made from a rule's matches.
    pub(crate) fn matched(&self) -> Option<&Match> {
        self.entry.rule.matches.get(self.match_index as usize)
    }

    pub(crate) fn rank(&self) -> Rank<'_> {
        Rank {
            shape: self.shape,
            age: self.entry.route.age,
            name: self.entry.route.origin.qualified_name(),
            rule: self.entry.rule.id.index,
            matched: self.match_index as usize,
        }
    }

    /// Whether everything but the path fits; most matches ask for nothing else, and are not even looked at.
    pub(crate) fn takes<H: HeaderSource + ?Sized>(&self, request: &Request<'_, H>) -> bool {
        self.shape.is_bare() || self.unmet(request).is_none()
    }

    /// Whether a path names such a gRPC call.
    pub(crate) fn names_call(&self, path: &str) -> bool {
        self.matched().is_some_and(|matched| match &matched.path {
            PathMatch::Call(call) => call.takes(path),
            _ => false,
        })
    }

    pub(crate) fn unmet<H: HeaderSource + ?Sized>(&self, request: &Request<'_, H>) -> Option<Mismatch<'_>> {
        self.matched().map_or(Some(Mismatch::Path), |matched| unmet(matched, request))
    }
}
