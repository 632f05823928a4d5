//! What is held back, and what it waits for.

use super::received::Received;
use super::{Mirror, Stage};
use crate::age::Age;
use crate::kinds::is_held;
use crate::limits::{HOLD, REFERRERS_TO_CONFIRM};
use crate::reads::Need;
use portcullis_api::{Kind, ObjectKey};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::time::Instant;

/// What is held back of an object.
#[derive(Debug)]
pub(super) enum What {
    /// A version.
    Version(Box<Received>),
    /// That it is gone.
    Gone(Age),
}

/// An object that is held back.
#[derive(Debug)]
pub(super) struct Waiting {
    what: What,
    needs: HashSet<Need>,
    /// Until when, at most; open while kinds are being listed.
    pub(super) until: Option<Instant>,
    /// Whether it came with the first lists.
    pub(super) is_of_the_start: bool,
}

impl Waiting {
    /// How old it is.
    pub(super) fn age(&self) -> &Age {
        match &self.what {
            What::Version(received) => &received.age,
            What::Gone(age) => age,
        }
    }

    /// The version of the API in which it was read; none for what is gone.
    pub(super) fn version(&self) -> Option<&'static str> {
        match &self.what {
            What::Version(received) => Some(received.held.version),
            What::Gone(_) => None,
        }
    }
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
        let what = What::Version(Box::new(received));
        let waiting = Waiting { what, needs: HashSet::new(), until: None, is_of_the_start };
        self.waiting.insert(key.clone(), waiting);
        if self.stage != Stage::Listing {
            let until = earlier.and_then(|earlier| earlier.until).unwrap_or(self.now + HOLD);
            self.await_needs(&key, until);
        }
    }

    /// Takes that an object is gone. Who refers to it may have been changed before, and their watch be late: so
    /// they are read again, before what they no longer refer to goes.
    pub(super) fn remove(&mut self, key: &ObjectKey, age: Age) {
        let referrers = self.referrers.get(key).map_or(0, HashSet::len);
        let is_to_confirm = self.stage == Stage::Synced
            && self.known.contains_key(key)
            && (1..=REFERRERS_TO_CONFIRM).contains(&referrers);
        if !is_to_confirm {
            return self.forget(key);
        }
        let until = self.drop_waiting(key).and_then(|earlier| earlier.until).unwrap_or(self.now + HOLD);
        let what = What::Gone(age);
        let waiting = Waiting { what, needs: HashSet::new(), until: None, is_of_the_start: false };
        self.waiting.insert(key.clone(), waiting);
        self.await_needs(key, until);
    }

    /// Has an object wait for what it refers to and is not known; with nothing to wait for, it is ready.
    pub(super) fn await_needs(&mut self, key: &ObjectKey, until: Instant) {
        let Some(waiting) = self.waiting.get(key) else { return };
        let needs = match &waiting.what {
            What::Version(received) => self.needs_of(received),
            What::Gone(_) => {
                self.referrers.get(key).into_iter().flatten().cloned().map(Need::Object).collect()
            }
        };
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
            if target.kind == Kind::Service && !self.known.contains_key(target) {
                // Neither may its policy be known, without which it would be spoken to in plain text.
                self.need_within(Kind::BackendTlsPolicy, &target.namespace, &mut needs);
            }
            let wants_grant = target.kind.is_namespaced()
                && target.namespace != received.key.namespace
                && !matches!(target.kind, Kind::Gateway | Kind::ListenerSet);
            if wants_grant {
                self.need_within(Kind::ReferenceGrant, &target.namespace, &mut needs);
            }
        }
        needs
    }

    fn need_within(&self, kind: Kind, namespace: &Arc<str>, needs: &mut HashSet<Need>) {
        if self.watched_kind(kind).is_some() {
            needs.insert(Need::Within(kind, Arc::clone(namespace)));
        }
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
                match waiting.what {
                    What::Version(received) => self.hand_on(*received),
                    What::Gone(_) => self.forget(&key),
                }
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
        let Waiting { what, needs, until, is_of_the_start } = self.waiting.remove(key)?;
        for need in needs {
            self.wait_no_longer(&need, key);
        }
        if let What::Version(received) = what {
            self.let_go(Some(&received.targets));
        }
        Some(Earlier { until, is_of_the_start })
    }
}

/// What stays of a version that is replaced while it is held back.
pub(super) struct Earlier {
    until: Option<Instant>,
    is_of_the_start: bool,
}
