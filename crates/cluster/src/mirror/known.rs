//! What has been handed on: whole objects from what arrives, in order, once.

use super::Mirror;
use super::received::{Content, Received, held};
use super::waiting::Waiting;
use crate::age::Age;
use crate::batch::{Held, Seen};
use crate::kinds::{Extent, extent, has_status_of_ours};
use crate::raw::Raw;
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::{AncestorEntry, Change, Report, ReportKey, SERVICE_NAME};
use serde_json::Value;
use std::sync::Arc;

/// An object that has been handed on.
#[derive(Debug)]
pub(super) struct Known {
    version: &'static str,
    pub(super) age: Age,
    print: u64,
    is_refused: bool,
    pub(super) targets: Arc<[ObjectKey]>,
    /// Of an EndpointSlice: its Service.
    service: Option<ObjectKey>,
}

impl Mirror {
    /// Takes an object that is there, if it is newer than what is known of it.
    pub(super) fn object(&mut self, kind: Kind, raw: Raw) {
        let Some(version) = self.watched_kind(kind).map(|watched| watched.version) else { return };
        if raw.name().is_empty() {
            tracing::warn!(%kind, "an object without a name is left out");
            return;
        }
        let key = raw.key(kind);
        if extent(kind) == Extent::Referenced && !self.contents.contains_key(&key) {
            return; // nobody refers to it any more
        }
        self.note_listed(&key);
        let age = Age::new(raw.resource_version());
        let is_news = |old_age: &Age, old_version: Option<&str>| {
            age.is_newer_than(old_age) || (age == *old_age && old_version.is_some_and(|old| old != version))
        };
        if let Some(waiting) = self.waiting.get(&key) {
            if !is_news(waiting.age(), waiting.version()) {
                return;
            }
        } else if let Some(known) = self.known.get_mut(&key) {
            if !is_news(&known.age, Some(known.version)) {
                return;
            }
            if known.print == raw.print && known.version == version {
                known.age = age;
                let status = raw.status.clone();
                self.see(&key, Some(held(version, &raw, status)));
                return;
            }
        }
        self.receive(Received::admit(key, version, raw));
    }

    /// A watch tells that an object is gone.
    pub(super) fn deleted(&mut self, kind: Kind, raw: &Raw) {
        let key = raw.key(kind);
        let age = Age::new(raw.resource_version());
        if self.newest(&key).is_some_and(|newest| !newest.is_beyond(&age)) {
            self.remove(&key, age);
        }
    }

    /// The age of the newest version that has come.
    pub(super) fn newest(&self, key: &ObjectKey) -> Option<&Age> {
        let waiting = self.waiting.get(key).map(Waiting::age);
        waiting.or_else(|| self.known.get(key).map(|known| &known.age))
    }

    /// Hands on an object: it waits for nothing.
    pub(super) fn hand_on(&mut self, received: Received) {
        let Received { key, age, print, held, content, targets } = received;
        let old = self.known.remove(&key);
        self.count_endpoints(old.as_ref().and_then(|old| old.service.as_ref()), false);
        let service = service_of(&key, &content);
        self.count_endpoints(service.as_ref(), true);
        let is_refused = matches!(content, Content::Refused(_));
        match content {
            Content::Admitted(object) => {
                if old.as_ref().is_some_and(|old| old.is_refused) {
                    self.batch.changes.push(Change::Retract(ReportKey::Refused(key.clone())));
                }
                self.batch.changes.push(Change::Put(object));
            }
            Content::Refused(refusal) => {
                for diagnostic in &refusal.diagnostics {
                    tracing::warn!(%diagnostic, "the cluster holds an object that is refused");
                }
                if old.as_ref().is_some_and(|old| !old.is_refused) {
                    self.batch.changes.push(Change::Remove(key.clone()));
                }
                self.batch.changes.push(Change::Report(Report::Refused(key.clone(), refusal)));
            }
        }
        self.note_referrer(&key, old.as_ref().map(|old| &*old.targets), Some(&targets));
        let version = held.version;
        self.see(&key, Some(held));
        self.known.insert(key.clone(), Known { version, age, print, is_refused, targets, service });
        self.let_go(old.map(|old| old.targets).as_deref());
        self.arrived(&key);
    }

    /// An object is gone, or is of interest no longer.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.drop_waiting(key);
        if let Some(known) = self.known.remove(key) {
            self.batch.changes.push(if known.is_refused {
                Change::Retract(ReportKey::Refused(key.clone()))
            } else {
                Change::Remove(key.clone())
            });
            self.count_endpoints(known.service.as_ref(), false);
            self.note_referrer(key, Some(&known.targets), None);
            self.see(key, None);
            self.let_go(Some(&known.targets));
        }
        self.will_not_arrive(key);
    }

    /// Notes to what a version refers that has been handed on, and that its predecessor no longer does.
    fn note_referrer(&mut self, key: &ObjectKey, old: Option<&[ObjectKey]>, new: Option<&[ObjectKey]>) {
        for target in old.into_iter().flatten() {
            if let Some(referrers) = self.referrers.get_mut(target) {
                referrers.remove(key);
                if referrers.is_empty() {
                    self.referrers.remove(target);
                }
            }
        }
        for target in new.into_iter().flatten().filter(|target| is_backend_or_content(target.kind)) {
            self.referrers.entry(target.clone()).or_default().insert(key.clone());
        }
    }

    fn see(&mut self, key: &ObjectKey, held: Option<Held>) {
        if key.kind == Kind::BackendTlsPolicy {
            self.tell_ancestors(key, held.as_ref());
        }
        if has_status_of_ours(key.kind) {
            self.batch.seen.push(Seen { key: key.clone(), held });
        }
    }

    /// Says whose entries stand in a policy's status: there may be no room for ours.
    fn tell_ancestors(&mut self, policy: &ObjectKey, held: Option<&Held>) {
        let status = held.and_then(|held| held.status.as_deref()).unwrap_or(&Value::Null);
        let entries = AncestorEntry::read(status, &policy.namespace);
        self.batch.changes.push(if entries.is_empty() {
            Change::Retract(ReportKey::Ancestors(policy.clone()))
        } else {
            Change::Report(Report::Ancestors(policy.clone(), entries))
        });
    }

    fn count_endpoints(&mut self, service: Option<&ObjectKey>, is_more: bool) {
        let Some(service) = service else { return };
        let count = self.endpoints.entry(service.clone()).or_default();
        *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.endpoints.remove(service);
        }
    }
}

/// Whether traffic fails for want of such an object.
const fn is_backend_or_content(kind: Kind) -> bool {
    matches!(kind, Kind::Service | Kind::Backend | Kind::Secret | Kind::ConfigMap)
}

/// The Service of an EndpointSlice.
fn service_of(key: &ObjectKey, content: &Content) -> Option<ObjectKey> {
    let Content::Admitted(Object::EndpointSlice(slice)) = content else { return None };
    let name = slice.metadata.labels.as_ref()?.get(SERVICE_NAME)?;
    Some(ObjectKey::new(Kind::Service, Arc::clone(&key.namespace), name.as_str()))
}
