//! Secrets and ConfigMaps: only what some object refers to is read and kept.

use super::Mirror;
use crate::age::Age;
use crate::batch::Subject;
use crate::kinds::{Extent, extent};
use crate::reads::Need;
use portcullis_api::ObjectKey;

/// A Secret or ConfigMap that some object refers to.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// How many versions of objects refer to it, those that wait included.
    referrers: usize,
    /// The newest version that its watch has told of.
    newest: Option<Age>,
}

fn contents(targets: &[ObjectKey]) -> impl Iterator<Item = &ObjectKey> {
    targets.iter().filter(|target| extent(target.kind) == Extent::Referenced)
}

impl Mirror {
    /// An object refers to these.
    pub(super) fn hold_on_to(&mut self, targets: &[ObjectKey]) {
        for target in contents(targets) {
            let content = self.contents.entry(target.clone()).or_default();
            content.referrers += 1;
            if content.referrers == 1 {
                self.read(Need::Object(target.clone()));
            }
        }
    }

    /// An object no longer refers to these.
    pub(super) fn let_go(&mut self, targets: Option<&[ObjectKey]>) {
        for target in contents(targets.unwrap_or_default()) {
            let Some(content) = self.contents.get_mut(target) else { continue };
            content.referrers -= 1;
            if content.referrers == 0 {
                self.contents.remove(target);
                self.abandon_read(&Need::Object(target.clone()));
                self.set_problem(Subject::Object(target.clone()), None);
                self.forget(target);
            }
        }
    }

    /// The watch of the metadata tells of a version.
    pub(super) fn content_changed(&mut self, key: &ObjectKey, resource_version: &str) {
        let Some(content) = self.contents.get_mut(key) else { return };
        let age = Age::new(resource_version);
        if content.newest.as_ref().is_none_or(|newest| age.is_newer_than(newest)) {
            content.newest = Some(age);
        }
        self.note_listed(key);
        if !self.outdate(&Need::Object(key.clone())) && self.is_older(key) {
            self.read(Need::Object(key.clone()));
        }
    }

    /// Reads what is known, and known to be older than the newest version.
    pub(super) fn read_if_older(&mut self, key: &ObjectKey) {
        let need = Need::Object(key.clone());
        if self.known.contains_key(key) && self.is_older(key) && !self.pending.contains_key(&need) {
            self.read(need);
        }
    }

    fn is_older(&self, key: &ObjectKey) -> bool {
        let newest = self.contents.get(key).and_then(|content| content.newest.as_ref());
        let known = self.known.get(key).map(|known| &known.age);
        newest.is_some_and(|newest| known.is_none_or(|known| newest.is_newer_than(known)))
    }
}
