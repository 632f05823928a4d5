//! Why a request's rule is the one it is.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use portcullis_model::{HostPattern, PathMatch};

use crate::candidate::Candidate;
use crate::listener::Matched;
use crate::paths::PathKey;
use crate::table::{Hosted, Table};
use crate::{Criterion, Entry, HeaderSource, ListenerTable, Mismatch, Request};

/// A lookup's answer and what became of every match of the request's host.
#[derive(Debug)]
pub struct Traced<'t, T> {
    /// What [`ListenerTable::lookup`] answers.
    pub matched: Option<Matched<'t, T>>,
    /// Every match under a hostname that takes the request's host, in the order of precedence; those of GRPCRoutes,
    /// which only gRPC calls see, before those of HTTPRoutes. A match whose
    /// route has several such hostnames is listed under the most specific.
    pub tried: Vec<Tried<'t, T>>,
}

/// A match and what became of it.
#[derive(Debug)]
pub struct Tried<'t, T> {
    /// The rule.
    pub entry: &'t Arc<Entry<T>>,
    /// Which of its matches, from 0.
    pub match_index: usize,
    /// The route's hostname under which it was tried.
    pub hostname: &'t HostPattern,
    /// What became of it.
    pub verdict: Verdict<'t>,
}

/// What became of a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<'t> {
    /// It takes the request.
    Won,
    /// It would take the request, but another comes first by this.
    Lost(Criterion),
    /// It does not take the request, for this first reason.
    Unmatched(Mismatch<'t>),
}

impl<T> ListenerTable<T> {
    /// [`lookup`](Self::lookup), and what became of every match of the request's host. Costs their number.
    #[must_use]
    pub fn lookup_traced<'t, H: HeaderSource + ?Sized>(&'t self, request: &Request<'_, H>) -> Traced<'t, T> {
        let matched = self.lookup(request);
        let mut tried: Vec<Tried<'t, T>> = Vec::new();
        if let Some(calls) = self.calls_for(request) {
            try_all(calls, request, matched.as_ref(), &mut tried);
        }
        try_all(self.hosts(), request, matched.as_ref(), &mut tried);
        Traced { matched, tried }
    }
}

/// Judges all matches under the hostnames that take a request's host.
fn try_all<'t, P: Table, H: HeaderSource + ?Sized>(
    tables: &'t Hosted<P>,
    request: &Request<'_, H>,
    winner: Option<&Matched<'t, P::Compiled>>,
    tried: &mut Vec<Tried<'t, P::Compiled>>,
) {
    let mut listed: HashSet<_, RandomState> = HashSet::default();
    for table in tables.matching(request.host) {
        let mut candidates: Vec<_> = table.candidates().collect();
        candidates.sort_by(|one, two| one.rank().cmp(&two.rank()));
        for candidate in candidates {
            if listed.insert((Arc::as_ptr(&candidate.entry), candidate.match_index)) {
                tried.push(judge(table.hostname(), candidate, request, winner));
            }
        }
    }
}

fn judge<'t, T, H: HeaderSource + ?Sized>(
    hostname: &'t HostPattern,
    candidate: &'t Candidate<T>,
    request: &Request<'_, H>,
    winner: Option<&Matched<'t, T>>,
) -> Tried<'t, T> {
    let verdict = match (first_mismatch(candidate, request), winner) {
        (Some(mismatch), _) => Verdict::Unmatched(mismatch),
        (None, Some(winner)) if winner.candidate.shape.is_call() != candidate.shape.is_call() => {
            Verdict::Lost(Criterion::Kind)
        }
        (None, Some(winner)) if winner.hostname() != hostname => Verdict::Lost(Criterion::Hostname),
        (None, Some(winner)) if !std::ptr::eq(winner.candidate, candidate) => {
            Verdict::Lost(winner.candidate.rank().decider(&candidate.rank()))
        }
        (None, _) => Verdict::Won,
    };
    let match_index = candidate.match_index as usize;
    Tried { entry: &candidate.entry, match_index, hostname, verdict }
}

fn first_mismatch<'t, T, H: HeaderSource + ?Sized>(
    candidate: &'t Candidate<T>,
    request: &Request<'_, H>,
) -> Option<Mismatch<'t>> {
    let fits = candidate.matched().is_some_and(|matched| path_fits(&matched.path, request.path));
    if fits { candidate.unmet(request) } else { Some(Mismatch::Path) }
}

/// Whether a canonical path fits. By the field documentation, not by the table's way of finding it.
fn path_fits(wanted: &PathMatch, path: &str) -> bool {
    match PathKey::of(wanted) {
        PathKey::Exact(wanted) => wanted == path,
        PathKey::Pattern(pattern) => pattern.matches(path.as_bytes()),
        PathKey::Prefix(prefix) => match path.strip_prefix(&*prefix) {
            Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        },
        PathKey::Call(call) => call.takes(path),
    }
}
