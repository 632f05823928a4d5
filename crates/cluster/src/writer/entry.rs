//! [`Entry`]: what a writer knows of one object, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use backon::ExponentialBackoff;
use portcullis_api::{Kind, ObjectKey};
use serde_json::Value;

use super::flight::Task;
use super::pace;
use crate::Held;
use crate::age::Age;
use crate::statuses::{Author, Lacks, Merge, merge, names_no_owner, withdraw};

/// What we want of an object's status.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Wanted {
    /// Nobody has said yet.
    #[default]
    Unsaid,
    /// Nothing of ours.
    Nothing,
    /// This.
    Status(Arc<Value>),
}

/// One object.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The newest that is known of what the API server holds; none: there is no such object.
    pub(super) held: Option<Held>,
    pub(super) wanted: Wanted,
    /// In the queue.
    pub(super) queued: bool,
    /// A request is in flight.
    pub(super) flying: bool,
    /// The delays after failures in a row.
    pub(super) delays: Option<ExponentialBackoff>,
    /// The resource version that the request in flight was made against.
    flown: Option<Arc<str>>,
    /// A write met a newer version than `held`.
    stale: bool,
    /// The last write that came back otherwise than it was sent, and how it came back: writing it again is no use.
    echo: Option<(Value, Option<Arc<Value>>)>,
    /// The uid of the object from which everything of ours was taken back.
    withdrawn: Option<Arc<str>>,
}

impl Entry {
    /// Whether there is nothing left to remember.
    pub(super) fn is_spent(&self) -> bool {
        self.held.is_none() && !matches!(self.wanted, Wanted::Status(_)) && !self.flying
    }

    /// Takes what the API server holds, unless something newer is known.
    pub(super) fn hold(&mut self, held: Held) {
        if self.held.as_ref().is_none_or(|known| !is_older(&held, known)) {
            self.stale &=
                self.held.as_ref().is_some_and(|known| known.resource_version == held.resource_version);
            self.held = Some(held);
        }
    }

    /// Notes that there is no such object.
    pub(super) fn lose(&mut self) {
        self.held = None;
        self.stale = false;
    }

    /// Notes how the API server holds what was written, and learns what its schema lacks.
    pub(super) fn settle(&mut self, written: Value, held: Held, lacks: &mut Lacks) {
        let answered = held.status.as_deref().unwrap_or(&Value::Null);
        if *answered != written {
            lacks.learn(&written, answered);
            self.echo = Some((written, held.status.clone()));
        } else {
            self.echo = None;
        }
        self.landed(held);
    }

    /// Notes that nothing of ours is left on the object.
    pub(super) fn cleaned(&mut self, held: Held) {
        self.withdrawn = Some(Arc::clone(&held.uid));
        self.landed(held);
    }

    /// Notes the object as it was read after a conflict; that conflict counts until a write succeeds.
    pub(super) fn read(&mut self, held: Held) {
        self.stale = false;
        self.hold(held);
    }

    fn landed(&mut self, held: Held) {
        self.delays = None;
        self.read(held);
    }

    /// Notes that a request is made.
    pub(super) fn take_off(&mut self) {
        self.flying = true;
        self.flown = self.held.as_ref().map(|held| Arc::clone(&held.resource_version));
    }

    /// Notes a conflict: the object is read anew, unless a newer version comes first. A second one in a row waits.
    pub(super) fn conflict(&mut self) -> Option<Duration> {
        self.stale = self.flown == self.held.as_ref().map(|held| Arc::clone(&held.resource_version));
        match &mut self.delays {
            Some(delays) => delays.next(),
            None => {
                self.delays = Some(pace::delays());
                None
            }
        }
    }

    /// Notes a failure; gives the delay until the next try.
    pub(super) fn failure(&mut self) -> Option<Duration> {
        self.delays.get_or_insert_with(pace::delays).next()
    }

    /// What is to be asked of the API server, if anything.
    pub(super) fn task(&self, key: &ObjectKey, author: &Author<'_>) -> Option<Task> {
        let held = self.held.as_ref()?;
        if self.stale {
            return Some(Task::Get { version: held.version });
        }
        let status = held.status.as_deref().unwrap_or(&Value::Null);
        let merged = match &self.wanted {
            Wanted::Unsaid => return None,
            Wanted::Status(wanted) => merge(key.kind, held.generation, status, wanted, author),
            Wanted::Nothing if names_no_owner(key.kind) => return self.withdrawal(key.kind, held),
            Wanted::Nothing => withdraw(key.kind, held.generation, status, &Value::Null, author),
        };
        match merged {
            Merge::Write(status) if !self.is_echo(&status, held) => {
                Some(Task::Put { held: held.clone(), status })
            }
            Merge::Write(_) | Merge::Unchanged | Merge::Stale => None,
        }
    }

    fn is_echo(&self, status: &Value, held: &Held) -> bool {
        self.echo.as_ref().is_some_and(|(written, answered)| written == status && *answered == held.status)
    }

    /// Whose the conditions are must be read from the object itself.
    fn withdrawal(&self, kind: Kind, held: &Held) -> Option<Task> {
        let clean = held.status.is_none() || self.withdrawn.as_ref() == Some(&held.uid);
        (!clean).then(|| Task::Withdraw { kind, held: held.clone() })
    }
}

/// Whether one is an earlier version of the same object than the other.
///
/// Versions that are no numbers count as newer when they come later.
fn is_older(one: &Held, other: &Held) -> bool {
    let age = |held: &Held| Age::new(&held.resource_version);
    one.uid == other.uid && age(other).is_beyond(&age(one))
}
