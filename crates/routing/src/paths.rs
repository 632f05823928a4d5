//! The matches of one hostname, by path.

use std::borrow::Cow;
use std::sync::Arc;

use portcullis_model::{CallMatch, HostPattern, PathMatch, Pattern, Route, Rule};
use smallvec::SmallVec;

use crate::candidate::{Candidate, Entry};
use crate::depths::Depths;
use crate::keyed::KeyedMap;
use crate::leaf::{Leaf, insert_leaf, remove_from_leaf};
use crate::patterns::Patterns;
use crate::precedence::Shape;
use crate::table::Table;
use crate::{HeaderSource, Request, canonical_path};

/// The matches of all routes that have one hostname.
pub(crate) struct PathTable<T> {
    hostname: HostPattern,
    exact: KeyedMap<Leaf<T>>,
    patterns: Patterns<T>,
    prefixes: KeyedMap<Leaf<T>>,
    /// Of the prefixes, in path elements.
    depths: Depths,
}

impl<T> Clone for PathTable<T> {
    fn clone(&self) -> Self {
        PathTable {
            hostname: self.hostname.clone(),
            exact: self.exact.clone(),
            patterns: self.patterns.clone(),
            prefixes: self.prefixes.clone(),
            depths: self.depths.clone(),
        }
    }
}

/// A match's path as tables compare it.
pub(crate) enum PathKey<'m> {
    Exact(Cow<'m, str>),
    Pattern(&'m Pattern),
    /// Without a trailing slash; the root is empty.
    Prefix(Cow<'m, str>),
    Call(&'m CallMatch),
}

impl<'m> PathKey<'m> {
    pub(crate) fn of(path: &'m PathMatch) -> PathKey<'m> {
        // What is no path (admission refuses it) is kept as it is, and no request has it.
        let canonical = |text: &'m str| canonical_path(text).unwrap_or(Cow::Borrowed(text));
        match path {
            PathMatch::Exact(text) => PathKey::Exact(canonical(text)),
            PathMatch::Regex(pattern) => PathKey::Pattern(pattern),
            PathMatch::Prefix(text) => PathKey::Prefix(match canonical(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('/').unwrap_or(text)),
                Cow::Owned(text) => Cow::Owned(text.strip_suffix('/').unwrap_or(&text).to_owned()),
            }),
            PathMatch::Call(call) => PathKey::Call(call),
        }
    }
}

impl<T> PathTable<T> {
    fn find_prefix<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<&'t Candidate<T>> {
        let ends = element_ends(request.path, self.depths.deepest()?);
        let known = ends.iter().enumerate().rev().filter(|(depth, _)| self.depths.has(*depth));
        let prefixes = known.filter_map(|(_, end)| request.path.get(..*end));
        prefixes.filter_map(|prefix| self.prefixes.get(prefix)).find_map(|leaf| leaf.find(request))
    }
}

impl<T> Table for PathTable<T> {
    type Compiled = T;

    fn new(hostname: HostPattern) -> PathTable<T> {
        PathTable {
            hostname,
            exact: KeyedMap::default(),
            patterns: Patterns::default(),
            prefixes: KeyedMap::default(),
            depths: Depths::default(),
        }
    }

    fn hostname(&self) -> &HostPattern {
        &self.hostname
    }

    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.patterns.is_empty() && self.prefixes.is_empty()
    }

    /// The first match that takes a request. Where the longest prefix's other predicates fail, shorter ones
    /// are tried.
    fn find<'t, H: HeaderSource + ?Sized>(&'t self, request: &Request<'_, H>) -> Option<&'t Candidate<T>> {
        let exact = self.exact.get(request.path).and_then(|leaf| leaf.find(request));
        exact.or_else(|| self.patterns.find(request)).or_else(|| self.find_prefix(request))
    }

    fn insert(&mut self, entry: &Arc<Entry<T>>) {
        for (index, matched) in entry.rule.matches.iter().enumerate() {
            let key = PathKey::of(&matched.path);
            let candidate = Candidate {
                entry: Arc::clone(entry),
                shape: Shape::of(matched, &key),
                match_index: u32::try_from(index).unwrap_or(u32::MAX),
            };
            match &key {
                PathKey::Pattern(pattern) => self.patterns.insert(pattern, candidate),
                PathKey::Call(_) => {} // no match of an HTTPRoute
                PathKey::Exact(path) => insert_leaf(&mut self.exact, path, candidate),
                PathKey::Prefix(path) => {
                    if self.prefixes.get(path).is_none() {
                        self.depths.add(depth(path));
                    }
                    insert_leaf(&mut self.prefixes, path, candidate);
                }
            }
        }
    }

    fn remove(&mut self, route: &Arc<Route>) {
        let matches = route.rules.iter().flat_map(|rule: &Arc<Rule>| &rule.matches);
        let mut patterns = false;
        for matched in matches {
            match PathKey::of(&matched.path) {
                PathKey::Pattern(_) => patterns = true,
                PathKey::Call(_) => {}
                PathKey::Exact(path) => {
                    remove_from_leaf(&mut self.exact, &path, route);
                }
                PathKey::Prefix(path) => {
                    if remove_from_leaf(&mut self.prefixes, &path, route) {
                        self.depths.remove(depth(&path));
                    }
                }
            }
        }
        if patterns {
            self.patterns.remove(route);
        }
    }

    fn candidates<'t>(&'t self) -> impl Iterator<Item = &'t Candidate<T>>
    where
        T: 't,
    {
        let leaves = self.exact.iter().chain(self.prefixes.iter());
        leaves.flat_map(|leaf| &leaf.candidates).chain(self.patterns.iter())
    }
}

/// The number of a prefix's elements.
fn depth(prefix: &str) -> usize {
    prefix.bytes().filter(|byte| *byte == b'/').count()
}

/// Where the first 0, 1, … elements of a path end, as far as the deepest prefix reaches.
fn element_ends(path: &str, deepest: usize) -> SmallVec<[usize; 16]> {
    let slashes = path.bytes().enumerate().skip(1).filter(|(_, byte)| *byte == b'/');
    let mut ends = SmallVec::from_iter([0]);
    ends.extend(slashes.map(|(at, _)| at).take(deepest));
    if ends.len() <= deepest {
        ends.push(path.len());
    }
    ends
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Action, Age, Failure, FailureReason, Match, Origin, RuleId, Timeouts};

    use super::*;

    #[test]
    fn elements_end_before_slashes_and_at_the_end() {
        assert_eq!(element_ends("/a/bc", 9).as_slice(), [0, 2, 5]);
        assert_eq!(element_ends("/a/bc/", 9).as_slice(), [0, 2, 5, 6]);
        assert_eq!(element_ends("/a/bc", 1).as_slice(), [0, 2]);
        assert_eq!(element_ends("/a/bc", 0).as_slice(), [0]);
        assert_eq!(element_ends("/a//b", 9).as_slice(), [0, 2, 3, 5]);
        assert_eq!(element_ends("/", 9).as_slice(), [0, 1]);
    }

    /// A depth is tried while some prefix has it, and no longer.
    #[test]
    fn depths_follow_the_prefixes() {
        let prefix = |path: &str| Match {
            path: PathMatch::Prefix(path.into()),
            method: None,
            headers: vec![],
            query: vec![],
        };
        let route = |name: &str, paths: &[&str]| {
            let origin = Origin { kind: "HTTPRoute".into(), namespace: "n".into(), name: name.into() };
            let failure = Failure { status: 500, reason: FailureReason::NoBackends, message: Arc::default() };
            let rule = Rule {
                id: RuleId { route: origin.clone(), index: 0, name: None },
                matches: paths.iter().map(|path| prefix(path)).collect(),
                filters: vec![],
                action: Action::Fail(failure),
                timeouts: Timeouts::default(),
                retry: None,
            };
            let (age, hostnames) = (Age::UNKNOWN, vec![HostPattern::Any]);
            Arc::new(Route { origin, age, hostnames, rules: vec![Arc::new(rule)] })
        };
        let mut table = PathTable::new(HostPattern::Any);
        let routes = [route("one", &["/a/b/c", "/a", "/a"]), route("two", &["/a"])];
        for route in &routes {
            let (route, rule) = (Arc::clone(route), Arc::clone(&route.rules[0]));
            table.insert(&Arc::new(Entry { route, rule, compiled: () }));
        }
        assert_eq!([1, 2, 3].map(|depth| table.depths.has(depth)), [true, false, true]);
        table.remove(&routes[0]);
        assert_eq!([1, 2, 3].map(|depth| table.depths.has(depth)), [true, false, false]);
        table.remove(&routes[1]);
        assert_eq!(table.depths.deepest(), None);
        assert!(table.is_empty());
    }
}
