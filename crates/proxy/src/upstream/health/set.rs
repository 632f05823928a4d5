//! An endpoint's siblings: the endpoints of one port of one Service, or of a `Backend`.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use portcullis_model::{EndpointState, Endpoints, EndpointsKey, Locality, Selection};

use super::{Health, Policy, Standing, seconds};
use crate::clock::Clock;

/// What all sets count together.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Endpoints that were shut out.
    pub(crate) ejections: AtomicU64,
    /// Endpoints that would have been, were they not the rest.
    pub(crate) spared: AtomicU64,
}

/// The endpoints of a backend, whoever speaks to them. At most half of those that take requests are shut out, so that
/// a fault of the network, or of what they all depend on, takes nothing away; and a single endpoint never is.
#[derive(Debug)]
pub(crate) struct EndpointSet {
    pub(super) key: EndpointsKey,
    policy: Policy,
    clock: Clock,
    totals: Arc<Totals>,
    /// Locked when the configuration changes, and when an endpoint has failed as often as is enough to shut it out.
    state: Mutex<State>,
    this: Weak<EndpointSet>,
}

#[derive(Debug, Default)]
struct State {
    endpoints: Option<Arc<Endpoints>>,
    at: Locality,
    members: Vec<Member>,
}

/// An endpoint of a set.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) health: Arc<Health>,
    /// It takes requests now.
    pub(super) used: bool,
    pub(super) state: EndpointState,
    /// How often it was shut out, of late.
    times: u32,
    /// Until when it was.
    until: u64,
}

impl EndpointSet {
    pub(super) fn new(
        key: EndpointsKey,
        policy: Policy,
        clock: Clock,
        totals: &Arc<Totals>,
    ) -> Arc<EndpointSet> {
        Arc::new_cyclic(|this| EndpointSet {
            key,
            policy,
            clock,
            totals: Arc::clone(totals),
            state: Mutex::default(),
            this: Weak::clone(this),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half-way: each change is of one word, or of a whole list.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what the configuration says. An endpoint that stays keeps what is known of it; one that joins others
    /// has a slow start.
    pub(crate) fn update(&self, endpoints: &Arc<Endpoints>, at: &Locality) {
        let mut state = self.state();
        if state.at == *at && state.endpoints.as_ref().is_some_and(|known| Arc::ptr_eq(known, endpoints)) {
            return;
        }
        let joins = state.members.iter().any(|member| member.used);
        let standing = match joins && self.policy.slow_start > 0 {
            true => Standing::Warming { since: self.clock.now() },
            false => Standing::Well,
        };
        let selection = Selection::of(endpoints, at);
        let mut known = std::mem::take(&mut state.members).into_iter().peekable();
        let members = endpoints.endpoints.iter().map(|endpoint| {
            let (used, address) = (selection.takes(endpoint, at), &endpoint.address);
            while known.next_if(|member| member.health.address < *address).is_some() {} // both are in order
            match known.next_if(|member| member.health.address == *address) {
                Some(member) => Member { used, state: endpoint.state, ..member },
                None => {
                    let health = Arc::new(Health::new(address, standing, self.policy, &self.this));
                    Member { health, used, state: endpoint.state, times: 0, until: 0 }
                }
            }
        });
        state.members = members.collect();
        (state.endpoints, state.at) = (Some(Arc::clone(endpoints)), at.clone());
        self.keep_the_floor(&state);
    }

    /// Where more than half of what is left are shut out, all are used.
    fn keep_the_floor(&self, state: &State) {
        let now = self.clock.now();
        if state.ejected(now) > state.used().count() / 2 {
            tracing::warn!(backend = %self.key, "too few endpoints are left: those that were shut out are used again");
            let ejected = state.used().filter(|member| member.is_ejected(now));
            ejected.for_each(|member| member.health.set_standing(Standing::Well));
        }
    }

    /// Shuts an endpoint out, unless too many are.
    pub(super) fn eject(&self, health: &Health) {
        let mut state = self.state();
        let now = self.clock.now();
        let most = state.used().count() / 2;
        let is_full = state.ejected(now) >= most;
        let found = state.members.iter_mut().find(|member| member.health.id == health.id);
        let Some(member) = found.filter(|member| member.used && !member.is_ejected(now)) else { return };
        if is_full {
            self.totals.spared.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(backend = %self.key, endpoint = %health.address, "an endpoint fails, and too few are left");
            return;
        }
        if now >= member.until.saturating_add(self.policy.max_ejection) {
            member.times = 0; // it did well for long
        }
        let time = self.policy.ejection.saturating_mul(1 << member.times).min(self.policy.max_ejection);
        member.times = member.times.saturating_add(1).min(32);
        member.until = now.saturating_add(time);
        health.set_standing(Standing::Ejected { until: member.until });
        self.totals.ejections.fetch_add(1, Ordering::Relaxed);
        let seconds = seconds(time);
        tracing::warn!(backend = %self.key, endpoint = %health.address, seconds, "an endpoint that fails is shut out");
    }

    /// Every endpoint, in the order of the addresses.
    pub(super) fn members(&self) -> Vec<Member> {
        self.state().members.clone()
    }

    /// What is known of every endpoint, and whether it takes requests.
    pub(crate) fn healths(&self) -> Vec<(Arc<Health>, bool)> {
        self.members().into_iter().map(|member| (member.health, member.used)).collect()
    }
}

impl State {
    fn used(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.used)
    }

    fn ejected(&self, now: u64) -> usize {
        self.used().filter(|member| member.is_ejected(now)).count()
    }
}

impl Member {
    fn is_ejected(&self, now: u64) -> bool {
        matches!(self.standing(), Standing::Ejected { until } if until > now)
    }

    /// Without letting it in, if its time outside is over.
    fn standing(&self) -> Standing {
        Standing::unpack(self.health.standing.load(Ordering::Relaxed))
    }

    /// What it has become by a time, in the clock's milliseconds.
    pub(super) fn standing_at(&self, now: u64) -> Standing {
        self.standing().at(now, self.health.policy.slow_start)
    }
}
