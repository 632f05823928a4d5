//! Reads that are under way, and who waits for them.

use super::{Command, Mirror, Stage};
use crate::batch::Subject;
use crate::kinds::{Extent, extent};
use crate::reads::Need;
use crate::signal::Failure;
use portcullis_api::{Kind, ObjectKey};
use tokio::time::Instant;

/// Something that is being read, or that is held back itself.
#[derive(Debug)]
pub(super) struct Pending {
    /// Since when; who asks later waits for the next read, as this one may have been answered before.
    since: Instant,
    /// The read that is under way.
    run: Option<u64>,
    /// Whether a change has been told of since: that there is nothing may be an answer from before.
    is_outdated: bool,
    waiting: Vec<ObjectKey>,
    waiting_for_next: Vec<ObjectKey>,
}

impl Pending {
    fn new(since: Instant) -> Self {
        Self { since, run: None, is_outdated: false, waiting: Vec::new(), waiting_for_next: Vec::new() }
    }
}

impl Mirror {
    /// Reads, unless a read of the same is under way.
    pub(super) fn read(&mut self, need: Need) {
        let Some(version) = self.watched_kind(need.kind()).map(|watched| watched.version) else { return };
        let (run, now) = (self.next_run(), self.now);
        let pending = self.pending.entry(need.clone()).or_insert_with(|| Pending::new(now));
        if pending.run.is_none() {
            pending.run = Some(run);
            pending.since = now;
            self.commands.push(Command::Read { need, version, run });
        }
    }

    /// Has an object wait for the answer to a read that begins no earlier than now.
    pub(super) fn wait_for(&mut self, need: &Need, key: &ObjectKey) {
        let is_start = self.stage == Stage::Reading; // what is read since the lists began is new enough
        if let Some(pending) = self.pending.get_mut(need) {
            if is_start || pending.run.is_none() || pending.since == self.now {
                pending.waiting.push(key.clone());
            } else {
                pending.waiting_for_next.push(key.clone());
            }
            return;
        }
        match need {
            Need::Object(target) if self.waiting.contains_key(target) => {
                let pending = Pending { waiting: vec![key.clone()], ..Pending::new(self.now) };
                self.pending.insert(need.clone(), pending);
            }
            _ => {
                self.read(need.clone());
                if let Some(pending) = self.pending.get_mut(need) {
                    pending.waiting.push(key.clone());
                }
            }
        }
    }

    /// An object waits no longer; a read for it alone is not needed then.
    pub(super) fn wait_no_longer(&mut self, need: &Need, key: &ObjectKey) {
        let Some(pending) = self.pending.get_mut(need) else { return };
        pending.waiting.retain(|waiting| waiting != key);
        pending.waiting_for_next.retain(|waiting| waiting != key);
        if pending.waiting.is_empty() && pending.waiting_for_next.is_empty() && !self.is_content(need) {
            self.abandon_read(need);
        }
    }

    /// An object has been handed on: who waited for it has it.
    pub(super) fn arrived(&mut self, key: &ObjectKey) {
        self.abandon_read(&Need::Object(key.clone()));
    }

    /// An object that was held back is gone: who waited for it waits in vain.
    pub(super) fn will_not_arrive(&mut self, key: &ObjectKey) {
        let need = Need::Object(key.clone());
        if self.pending.get(&need).is_some_and(|pending| pending.run.is_none()) {
            self.abandon_read(&need);
        }
    }

    /// Ends a read, and lets go who waits for it.
    pub(super) fn abandon_read(&mut self, need: &Need) {
        let Some(pending) = self.pending.remove(need) else { return };
        self.commands.push(Command::Unread(need.clone()));
        self.release(need, pending.waiting);
        self.release(need, pending.waiting_for_next);
    }

    /// Ends the reads of a kind that is no longer served.
    pub(super) fn abandon_reads(&mut self, kind: Kind) {
        let of_kind = self.pending.keys().filter(|need| need.kind() == kind);
        for need in of_kind.cloned().collect::<Vec<_>>() {
            self.abandon_read(&need);
        }
    }

    /// A read has been answered, and what was found has been taken.
    pub(super) fn answered(&mut self, need: &Need, run: u64) {
        if let Need::Object(key) = need {
            self.set_problem(Subject::Object(key.clone()), None);
            self.read_if_older(key);
        }
        let Some(pending) = self.pending.get_mut(need).filter(|pending| pending.run == Some(run)) else {
            return;
        };
        pending.run = None;
        let is_outdated = std::mem::take(&mut pending.is_outdated);
        let next = std::mem::take(&mut pending.waiting_for_next);
        let is_held_back = matches!(need, Need::Object(key) if self.waiting.contains_key(key));
        if is_held_back || is_outdated {
            pending.waiting.extend(next);
            if !is_held_back {
                self.read(need.clone());
            }
            return;
        }
        let done = std::mem::replace(&mut pending.waiting, next);
        if pending.waiting.is_empty() {
            self.pending.remove(need);
            self.commands.push(Command::Unread(need.clone()));
        } else {
            self.read(need.clone());
        }
        self.release(need, done);
    }

    /// What is being read has changed; says whether it is being read.
    pub(super) fn outdate(&mut self, need: &Need) -> bool {
        let pending = self.pending.get_mut(need).filter(|pending| pending.run.is_some());
        pending.map(|pending| pending.is_outdated = true).is_some()
    }

    /// A read has failed and is tried again. Who waits for what we may not read waits no longer.
    pub(super) fn read_failed(&mut self, need: &Need, run: u64, failure: Failure) {
        let Some(pending) = self.pending.get_mut(need).filter(|pending| pending.run == Some(run)) else {
            return;
        };
        if !failure.is_refusal() {
            return;
        }
        let mut waiting = std::mem::take(&mut pending.waiting);
        waiting.append(&mut pending.waiting_for_next);
        let subject = match need {
            Need::Object(key) => Subject::Object(key.clone()),
            Need::EndpointsOf(_) | Need::Within(..) => Subject::Kind(need.kind()),
        };
        self.set_problem(subject, Some(failure.message));
        self.release(need, waiting);
        if !self.is_content(need) {
            self.abandon_read(need);
        }
    }

    /// Whether it is read because some object refers to it, not because one waits.
    fn is_content(&self, need: &Need) -> bool {
        matches!(need, Need::Object(key)
            if extent(key.kind) == Extent::Referenced && self.contents.contains_key(key))
    }
}
