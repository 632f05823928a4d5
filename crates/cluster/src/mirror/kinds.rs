//! The kinds that are watched, and their lists.

use super::{Command, Mirror};
use crate::batch::Subject;
use crate::kinds::{Extent, extent};
use crate::raw::Raw;
use crate::signal::Served;
use portcullis_api::{Kind, ObjectKey};
use portcullis_store::{Change, Report};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A kind that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) version: &'static str,
    pub(super) run: u64,
    /// Whether the kind has been listed once.
    is_listed: bool,
    /// While a list is coming: what was in it, or has been read since it began.
    list: Option<HashSet<ObjectKey>>,
}

impl Mirror {
    pub(super) fn watched_kind(&self, kind: Kind) -> Option<&Watched> {
        self.kinds.as_ref()?.get(&kind)
    }

    fn watched_kind_mut(&mut self, kind: Kind) -> Option<&mut Watched> {
        self.kinds.as_mut()?.get_mut(&kind)
    }

    /// Whether every kind has been listed once.
    pub(super) fn is_listed(&self) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| kinds.values().all(|watched| watched.is_listed))
    }

    /// Begins, ends and replaces watches, so that what is served is watched. Objects of a kind that is read in
    /// another version from now on stay until its list says what there is.
    pub(super) fn serve(&mut self, served: &Served) {
        self.tell_unserved(served);
        let mut before = self.kinds.take().unwrap_or_default();
        let mut kinds = BTreeMap::new();
        for (&kind, &version) in served {
            let old = before.remove(&kind);
            if let Some(old) = old.as_ref().filter(|old| old.version != version) {
                tracing::info!(%kind, from = old.version, to = version, "the kind is read in another version");
            }
            let watched = match old {
                Some(same) if same.version == version => same,
                old => {
                    let run = self.next_run();
                    self.commands.push(Command::Watch { kind, version, run });
                    Watched { version, run, is_listed: old.is_some_and(|old| old.is_listed), list: None }
                }
            };
            kinds.insert(kind, watched);
        }
        self.kinds = Some(kinds);
        for kind in before.into_keys() {
            tracing::info!(%kind, "the kind is no longer served");
            self.commands.push(Command::Unwatch(kind));
            self.set_problem(Subject::Kind(kind), None);
            self.abandon_reads(kind);
            for key in self.keys_of(kind) {
                self.forget(&key);
            }
        }
    }

    /// Says of which kinds nothing can be there, when that has changed.
    fn tell_unserved(&mut self, served: &Served) {
        let kinds: Arc<[Kind]> =
            Kind::ALL.iter().copied().filter(|kind| !served.contains_key(kind)).collect();
        if *kinds != *self.unserved {
            self.unserved = Arc::clone(&kinds);
            self.batch.changes.push(Change::Report(Report::Unserved(kinds)));
        }
    }

    pub(super) fn list_begins(&mut self, kind: Kind) {
        if let Some(watched) = self.watched_kind_mut(kind) {
            watched.list = Some(HashSet::new());
        }
    }

    /// Notes that an object is there, should a list be coming.
    pub(super) fn note_listed(&mut self, key: &ObjectKey) {
        if let Some(list) = self.watched_kind_mut(key.kind).and_then(|watched| watched.list.as_mut()) {
            list.insert(key.clone());
        }
    }

    /// Whatever was not in the list is gone.
    pub(super) fn list_ends(&mut self, kind: Kind) {
        let Some(watched) = self.watched_kind_mut(kind) else { return };
        watched.is_listed = true;
        let Some(list) = watched.list.take() else { return };
        for key in self.keys_of(kind) {
            if !list.contains(&key)
                && let Some(age) = self.newest(&key).cloned()
            {
                self.remove(&key, age);
            }
        }
    }

    /// A watch tells of an object that is there.
    pub(super) fn changed(&mut self, kind: Kind, raw: Raw) {
        match extent(kind) {
            Extent::Whole => self.object(kind, raw),
            Extent::Referenced => self.content_changed(&raw.key(kind), raw.resource_version()),
        }
    }

    /// Everything of a kind that has been handed on or waits.
    fn keys_of(&self, kind: Kind) -> Vec<ObjectKey> {
        let all = self.known.keys().chain(self.waiting.keys().filter(|key| !self.known.contains_key(key)));
        let mut keys: Vec<ObjectKey> = all.filter(|key| key.kind == kind).cloned().collect();
        keys.sort();
        keys
    }
}
