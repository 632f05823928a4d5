//! Which endpoints are to be trusted: those that fail again and again are shut out for a while, and what comes anew
//! or comes back gets its share little by little.
//!
//! What is known of an endpoint is shared by all rules, protocols and workers that lead to it through the same port of
//! the same Service. A request that goes well costs a load or two of what hardly ever changes.
//!
//! Read in this order: [`Health`] (an endpoint), [`EndpointSet`] (it and its siblings, of which not all can be shut out),
//! [`EndpointSets`] (all of them), [`Rotation`] (whose turn it is).

mod rotation;
mod set;
mod sets;
mod standing;

#[cfg(test)]
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use portcullis_model::EndpointAddress;

pub(super) use self::rotation::Rotation;
pub(crate) use self::set::EndpointSet;
pub(crate) use self::sets::{EndpointSets, Seen};
pub(super) use self::standing::Standing;
use super::cluster::next_id;
use crate::clock::millis;
use crate::error::ProxyError;
use crate::limits::Limits;

/// How endpoints are judged; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// Failures without a success between them that shut an endpoint out.
    failures: u32,
    /// For how long, the first time; 0 never does.
    ejection: u64,
    /// For how long at most.
    max_ejection: u64,
    /// After which time an endpoint that came has its whole share; 0 gives it at once.
    slow_start: u64,
}

impl Policy {
    pub(super) fn new(limits: &Limits) -> Policy {
        Policy {
            failures: u32::try_from(limits.ejection_failures).unwrap_or(u32::MAX).max(1),
            ejection: millis(limits.ejection_time),
            max_ejection: millis(limits.max_ejection_time).max(millis(limits.ejection_time)),
            slow_start: millis(limits.slow_start),
        }
    }
}

/// What is known of an endpoint.
#[derive(Debug)]
pub(crate) struct Health {
    /// Never the same for two of a process.
    pub(super) id: u64,
    pub(super) address: EndpointAddress,
    /// A [`Standing`].
    standing: AtomicU64,
    /// Without a success since.
    failures: AtomicU32,
    policy: Policy,
    set: Weak<EndpointSet>,
}

impl Health {
    fn new(address: &EndpointAddress, standing: Standing, policy: Policy, set: &Weak<EndpointSet>) -> Health {
        Health {
            id: next_id(),
            address: address.clone(),
            standing: AtomicU64::new(standing.pack()),
            failures: AtomicU32::new(0),
            policy,
            set: Weak::clone(set),
        }
    }

    /// One that belongs to no set, and is never shut out.
    #[cfg(test)]
    pub(super) fn alone(address: &EndpointAddress) -> Arc<Health> {
        let policy = Policy::new(&Limits::default());
        Arc::new(Health::new(address, Standing::Well, policy, &Weak::new()))
    }

    /// Whether there is nothing to be said about it, as nearly always.
    pub(super) fn is_well(&self) -> bool {
        self.standing.load(Ordering::Relaxed) == Standing::Well.pack()
    }

    /// How it stands at a time, in the clock's milliseconds. Whoever finds that its time outside is over lets it in: on
    /// trial, the first failure shuts it out again.
    pub(super) fn standing(&self, now: u64) -> Standing {
        let packed = self.standing.load(Ordering::Relaxed);
        let before = Standing::unpack(packed);
        let after = before.at(now, self.policy.slow_start);
        if after == before {
            return after;
        }
        let exchanged =
            self.standing.compare_exchange(packed, after.pack(), Ordering::Relaxed, Ordering::Relaxed);
        if exchanged.is_ok() && matches!(before, Standing::Ejected { .. }) {
            self.failures.store(self.policy.failures - 1, Ordering::Relaxed);
            tracing::info!(endpoint = %self.address, "an endpoint that was shut out is tried again");
        }
        after
    }

    fn set_standing(&self, standing: Standing) {
        self.standing.store(standing.pack(), Ordering::Relaxed);
    }

    /// It has answered, or taken a connection that carries no requests.
    pub(crate) fn succeeded(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// An exchange with it, or a connection to it, has failed, for whatever reason.
    pub(crate) fn note_failure(&self, error: &ProxyError) {
        if error.is_the_endpoints() {
            self.failed();
        }
    }

    /// It could not be spoken to.
    pub(crate) fn failed(&self) {
        if self.policy.ejection == 0
            || self.failures.fetch_add(1, Ordering::Relaxed) + 1 < self.policy.failures
        {
            return;
        }
        self.failures.store(0, Ordering::Relaxed);
        if let Some(set) = self.set.upgrade() {
            set.eject(self);
        }
    }
}

impl AsRef<Health> for Health {
    fn as_ref(&self) -> &Health {
        self
    }
}

/// The time of milliseconds, in whole seconds: for people.
fn seconds(millis: u64) -> u64 {
    Duration::from_millis(millis).as_secs_f64().ceil() as u64
}
