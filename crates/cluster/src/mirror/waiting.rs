//! What is held back, and what it waits for.

use super::received::Received;
use super::{Mirror, Stage};
use crate::kinds::is_held;
use crate::limits::HOLD;
use crate::reads::Need;
use portcullis_api::{Kind, ObjectKey};
use std::collections::HashSet;
use tokio::time::Instant;

/// An object that is held back.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) received: Received,
    needs: HashSet<Need>,
    /// Until when, at most; open while kinds are being listed.
    pub(super) until: Option<Instant>,
    /// Whether it came with the first lists.
    pub(super) is_of_the_start: bool,
}

impl Mirror {
    /// Takes a new version of an object: hands it on, or holds it back in the place of an earlier one.
    pub(super) fn receive(&mut self, received: Received) {
        self.hold_on_to(&received.targets);
        let key = received.key.clone();
        let earlier = self.drop_waiting(&key);
        if !is_held(key.kind) {
            return self.hand_on(received);
        }
        let is_of_the_start =
            self.stage == Stage::Listing || earlier.as_ref().is_some_and(|earlier| earlier.is_of_the_start);
        let waiting = Waiting { received, needs: HashSet::new(), until: None, is_of_the_start };
        self.waiting.insert(key.clone(), waiting);
        if self.stage != Stage::Listing {
            let until = earlier.and_then(|earlier| earlier.until).unwrap_or(self.now + HOLD);
            self.await_needs(&key, until);
        }
    }

    /// Has an object wait for what it refers to and is not known; with nothing to wait for, it is ready.
    pub(super) fn await_needs(&mut self, key: &ObjectKey, until: Instant) {
        let Some(waiting) = self.waiting.get(key) else { return };
        let needs = self.needs_of(&waiting.received);
        for need in &needs {
            self.wait_for(need, key);
        }
        if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.until = Some(until);
            waiting.needs = needs;
            if waiting.needs.is_empty() {
                self.ready.push_back(key.clone());
            }
        }
    }

    /// What must be read before this version can be judged: what the version that was handed on does not refer to.
    fn needs_of(&self, received: &Received) -> HashSet<Need> {
        let before = self.known.get(&received.key).map(|known| &*known.targets).unwrap_or_default();
        let new = received.targets.iter().filter(|target| before.binary_search(target).is_err());
        let mut needs = HashSet::new();
        for target in new.filter(|target| self.watched_kind(target.kind).is_some()) {
            if !self.known.contains_key(target) {
                needs.insert(Need::Object(target.clone()));
            }
            if target.kind == Kind::Service && !self.endpoints.contains_key(target) {
                needs.insert(Need::EndpointsOf(target.clone()));
            }
            let wants_grant = target.kind.is_namespaced()
                && target.namespace != received.key.namespace
                && !matches!(target.kind, Kind::Gateway | Kind::ListenerSet);
            if wants_grant && self.watched_kind(Kind::ReferenceGrant).is_some() {
                needs.insert(Need::GrantsIn(target.namespace.clone()));
            }
        }
        needs
    }

    /// An object has waited for this long enough.
    pub(super) fn release(&mut self, need: &Need, keys: Vec<ObjectKey>) {
        for key in keys {
            let Some(waiting) = self.waiting.get_mut(&key) else { continue };
            if waiting.needs.remove(need) && waiting.needs.is_empty() {
                self.ready.push_back(key);
            }
        }
    }

    /// Hands on what waits for nothing more.
    pub(super) fn hand_on_ready(&mut self) {
        while let Some(key) = self.ready.pop_front() {
            if self.waiting.get(&key).is_some_and(|waiting| waiting.needs.is_empty())
                && let Some(waiting) = self.waiting.remove(&key)
            {
                self.hand_on(waiting.received);
            }
        }
    }

    /// Hands on what has waited as long as anything may.
    pub(super) fn release_overdue(&mut self) {
        let is_overdue = |waiting: &Waiting| waiting.until.is_some_and(|until| until <= self.now);
        let overdue = self.waiting.iter().filter(|(_, waiting)| is_overdue(waiting));
        let mut overdue: Vec<ObjectKey> = overdue.map(|(key, _)| key.clone()).collect();
        overdue.sort();
        for key in overdue {
            let Some(waiting) = self.waiting.get_mut(&key) else { continue };
            let needs = std::mem::take(&mut waiting.needs);
            tracing::debug!(%key, ?needs, "handed on before all that it refers to could be read");
            for need in needs {
                self.wait_no_longer(&need, &key);
            }
            self.ready.push_back(key);
        }
        self.hand_on_ready();
    }

    /// An object that is held back is gone, or replaced.
    pub(super) fn drop_waiting(&mut self, key: &ObjectKey) -> Option<Earlier> {
        let Waiting { received, needs, until, is_of_the_start } = self.waiting.remove(key)?;
        for need in needs {
            self.wait_no_longer(&need, key);
        }
        self.let_go(Some(&received.targets));
        Some(Earlier { until, is_of_the_start })
    }
}

/// What stays of a version that is replaced while it is held back.
pub(super) struct Earlier {
    until: Option<Instant>,
    is_of_the_start: bool,
}
