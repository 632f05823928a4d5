//! The matches that ask for one thing.

use std::sync::Arc;

use portcullis_model::Route;
use smallvec::SmallVec;

use crate::candidate::Candidate;
use crate::keyed::{Key, Keyed, KeyedMap};
use crate::{HeaderSource, Request};

/// The matches that ask for one path, or one name, in the order of precedence.
pub(crate) struct Leaf<T> {
    path: Key,
    pub(crate) candidates: SmallVec<[Candidate<T>; 1]>,
}

impl<T> Keyed for Leaf<T> {
    fn key(&self) -> &[u8] {
        &self.path
    }
}

impl<T> Clone for Leaf<T> {
    fn clone(&self) -> Self {
        Leaf { path: self.path.clone(), candidates: self.candidates.clone() }
    }
}

impl<T> Leaf<T> {
    pub(crate) fn find<H: HeaderSource + ?Sized>(&self, request: &Request<'_, H>) -> Option<&Candidate<T>> {
        self.candidates.iter().find(|candidate| candidate.takes(request))
    }
}

/// Adds a match to those of a key.
pub(crate) fn insert_leaf<T>(map: &mut KeyedMap<Leaf<T>>, path: &str, candidate: Candidate<T>) {
    let made = || Leaf { path: path.as_bytes().into(), candidates: SmallVec::new() };
    let Some(leaf) = map.get_or_insert_with(path, made) else { return };
    let at = leaf.candidates.partition_point(|other| other.rank() < candidate.rank());
    leaf.candidates.insert(at, candidate);
}

/// Removes a route's matches from those of a key. Answers whether none is left.
pub(crate) fn remove_from_leaf<T>(map: &mut KeyedMap<Leaf<T>>, path: &str, route: &Arc<Route>) -> bool {
    let Some(leaf) = map.get_mut(path) else { return false };
    leaf.candidates.retain(|candidate| !Arc::ptr_eq(&candidate.entry.route, route));
    let empty = leaf.candidates.is_empty();
    if empty {
        map.remove(path);
    }
    empty
}
