//! Matches that no request can reach.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use portcullis_model::{Listener, Match, PathMatch, Rule, ValueMatch};

use crate::ListenerTable;
use crate::candidate::Candidate;
use crate::paths::PathKey;
use crate::table::Table;

/// A match that never takes a request, because another takes all that it would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadowed {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Which of its matches, from 0.
    pub match_index: usize,
    /// The rule that covers it.
    pub by: Arc<Rule>,
    /// Which of that rule's matches, from 0.
    pub by_match_index: usize,
}

/// The shadowed matches of a listener's routes, by route and place.
///
/// Sound and not complete: found are matches behind an equal one under the same hostname, and prefixes behind a
/// regular expression that takes everything below a literal (`/a.*`), each under all of the route's hostnames
/// that the listener takes. (`OPTIONS *`, which no regular expression of paths takes, is left out of account.)
#[must_use]
pub fn shadowed(listener: &Arc<Listener>) -> Vec<Shadowed> {
    let table = ListenerTable::build(listener, &|_, _, _| ());
    let mut seen = Seen::default();
    table.hosts().all().for_each(|paths| seen.look(listener, &**paths));
    table.calls().all().for_each(|calls| seen.look(listener, &**calls));
    let Seen { covered, reached } = seen;
    let unreached = covered.into_iter().filter(|(key, _)| !reached.contains(key));
    let mut all: Vec<_> = unreached.map(|(_, shadowed)| shadowed).collect();
    all.sort_by(|one, two| (&one.rule.id, one.match_index).cmp(&(&two.rule.id, two.match_index)));
    all
}

/// What has been found so far, by rule and match.
#[derive(Default)]
struct Seen {
    covered: HashMap<(*const Rule, u32), Shadowed, RandomState>,
    reached: HashSet<(*const Rule, u32), RandomState>,
}

impl Seen {
    /// Looks at the matches of one hostname, if the listener takes it.
    fn look<P: Table<Compiled = ()>>(&mut self, listener: &Listener, table: &P) {
        if !listener.hostname.intersects(table.hostname()) {
            return;
        }
        let mut candidates: Vec<_> = table.candidates().collect();
        candidates.sort_by(|one, two| one.rank().cmp(&two.rank()));
        let mut earlier = Earlier::default();
        for candidate in candidates {
            let key = (Arc::as_ptr(&candidate.entry.rule), candidate.match_index);
            match earlier.cover_of(candidate) {
                Some(by) => drop(self.covered.entry(key).or_insert_with(|| shadowed_by(candidate, by))),
                None => drop(self.reached.insert(key)),
            }
            earlier.add(candidate);
        }
    }
}

fn shadowed_by(candidate: &Candidate<()>, by: &Candidate<()>) -> Shadowed {
    Shadowed {
        rule: Arc::clone(&candidate.entry.rule),
        match_index: candidate.match_index as usize,
        by: Arc::clone(&by.entry.rule),
        by_match_index: by.match_index as usize,
    }
}

/// The matches of a hostname that come before others.
#[derive(Default)]
struct Earlier<'t> {
    equal: HashMap<Asked, &'t Candidate<()>, RandomState>,
    /// Regular expressions that take every path which begins with a literal.
    open: Vec<(&'t str, &'t Candidate<()>)>,
}

impl<'t> Earlier<'t> {
    fn cover_of(&self, candidate: &Candidate<()>) -> Option<&'t Candidate<()>> {
        let matched = candidate.matched()?;
        let equal = || self.equal.get(&Asked::by(matched)).copied();
        let found =
            equal().or_else(|| self.open.iter().find(|open| covers(open, matched)).map(|(_, one)| *one));
        found.filter(|by| !Arc::ptr_eq(&by.entry.rule, &candidate.entry.rule))
    }

    fn add(&mut self, candidate: &'t Candidate<()>) {
        let Some(matched) = candidate.matched() else { return };
        self.equal.entry(Asked::by(matched)).or_insert(candidate);
        if let PathMatch::Regex(pattern) = &matched.path {
            let literal = pattern.as_str().strip_suffix(".*");
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~%".contains(&byte);
            if let Some(literal) = literal.filter(|literal| literal.bytes().all(is_plain)) {
                self.open.push((literal, candidate));
            }
        }
    }
}

/// Whether an open regular expression takes every request that a prefix match would take.
fn covers((literal, candidate): &(&str, &Candidate<()>), matched: &Match) -> bool {
    let PathKey::Prefix(prefix) = PathKey::of(&matched.path) else { return false };
    let Some(open) = candidate.matched() else { return false };
    let below = if prefix.is_empty() { "/".starts_with(literal) } else { prefix.starts_with(literal) };
    below
        && (open.method.is_none() || open.method == matched.method)
        && open.headers.iter().all(|header| matched.headers.contains(header))
        && open.query.iter().all(|query| matched.query.contains(query))
}

/// What a match asks for, in a form that is equal for all matches that ask for the same.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    path: (u8, String),
    method: Option<Arc<str>>,
    headers: Vec<(String, bool, String)>,
    query: Vec<(String, bool, String)>,
}

impl Asked {
    fn by(matched: &Match) -> Asked {
        let path = match PathKey::of(&matched.path) {
            PathKey::Exact(path) => (0, path.into_owned()),
            PathKey::Pattern(pattern) => (1, pattern.as_str().to_owned()),
            PathKey::Prefix(path) => (2, path.into_owned()),
            PathKey::Call(call) => (3, format!("{:?}", (asked(&call.service), asked(&call.method)))),
        };
        let headers = matched.headers.iter().map(|header| predicate(header.name.as_str(), &header.value));
        let query = matched.query.iter().map(|query| predicate(&query.name, &query.value));
        Asked { path, method: matched.method.clone(), headers: sorted(headers), query: sorted(query) }
    }
}

/// A name that a call must have, and whether it is a regular expression.
fn asked(value: &Option<ValueMatch>) -> Option<(bool, &str)> {
    value.as_ref().map(|value| (matches!(value, ValueMatch::Regex(_)), value.as_str()))
}

fn predicate(name: &str, value: &ValueMatch) -> (String, bool, String) {
    match value {
        ValueMatch::Exact(text) => (name.to_owned(), false, text.as_ref().to_owned()),
        ValueMatch::Regex(pattern) => (name.to_owned(), true, pattern.as_str().to_owned()),
    }
}

fn sorted<I: Ord>(items: impl Iterator<Item = I>) -> Vec<I> {
    let mut items: Vec<_> = items.collect();
    items.sort();
    items
}
