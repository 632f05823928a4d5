//! All endpoints that rules lead to.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use portcullis_model::{EndpointAddress, EndpointState, EndpointsKey};

use super::set::Totals;
use super::{EndpointSet, Policy, Standing, seconds};
use crate::clock::Clock;
use crate::limits::Limits;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The endpoints of all backends. Never locked on a request's way.
#[derive(Debug)]
pub(crate) struct EndpointSets {
    policy: Policy,
    clock: Clock,
    totals: Arc<Totals>,
    sets: Mutex<Map<EndpointsKey, Arc<EndpointSet>>>,
}

/// An endpoint as the admin endpoint shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) address: EndpointAddress,
    pub(crate) state: EndpointState,
    /// It takes requests, unless it is shut out.
    pub(crate) used: bool,
    /// For how many more seconds it is shut out.
    pub(crate) ejected: Option<u64>,
    /// It has a slow start.
    pub(crate) warming: bool,
}

impl EndpointSets {
    pub(crate) fn new(limits: &Limits, clock: &Clock) -> EndpointSets {
        EndpointSets {
            policy: Policy::new(limits),
            clock: clock.clone(),
            totals: Arc::default(),
            sets: Mutex::default(),
        }
    }

    fn sets(&self) -> MutexGuard<'_, Map<EndpointsKey, Arc<EndpointSet>>> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoints of a backend.
    pub(crate) fn of(&self, key: &EndpointsKey) -> Arc<EndpointSet> {
        let mut sets = self.sets();
        let new = || EndpointSet::new(key.clone(), self.policy, self.clock.clone(), &self.totals);
        Arc::clone(sets.entry_ref(key).or_insert_with(new))
    }

    /// Forgets those that nobody holds.
    pub(crate) fn sweep(&self) {
        self.sets().retain(|_, set| Arc::strong_count(set) > 1);
    }

    /// How often endpoints were shut out, and how often one was not because too few would have been left.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.totals.ejections.load(Ordering::Relaxed), self.totals.spared.load(Ordering::Relaxed))
    }

    /// Every endpoint of every backend, in order.
    pub(crate) fn seen(&self) -> Vec<(EndpointsKey, Vec<Seen>)> {
        let mut sets: Vec<Arc<EndpointSet>> = self.sets().values().cloned().collect();
        sets.sort_by(|one, other| one.key.cmp(&other.key));
        sets.iter().map(|set| (set.key.clone(), self.seen_of(set))).collect()
    }

    fn seen_of(&self, set: &EndpointSet) -> Vec<Seen> {
        let now = self.clock.now();
        let seen = set.members().into_iter().map(|member| {
            let standing = member.standing_at(now);
            Seen {
                address: member.health.address.clone(),
                state: member.state,
                used: member.used,
                ejected: match standing {
                    Standing::Ejected { until } => Some(seconds(until.saturating_sub(now))),
                    _ => None,
                },
                warming: matches!(standing, Standing::Warming { .. }),
            }
        });
        seen.collect()
    }
}
