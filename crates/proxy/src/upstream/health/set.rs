//! An endpoint's siblings: the endpoints of one port of one Service, or of a `Backend`.

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use portcullis_model::{Endpoint, EndpointAddress, Origin, Transport};
    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limits;

    /// A set that is judged by a clock that stands still, and what it is told.
    struct Judged {
        set: Arc<EndpointSet>,
        clock: Clock,
    }

    impl Judged {
        fn new() -> Judged {
            let (clock, key) = (Clock::manual(), key());
            let set = EndpointSet::new(key, Policy::new(&Limits::default()), clock.clone(), &Arc::default());
            Judged { set, clock }
        }

        fn update(&self, ports: &BTreeSet<u16>) {
            let endpoint =
                |port: &u16| Endpoint::ready(EndpointAddress::Socket(([10, 0, 0, 1], *port).into()));
            let endpoints = Endpoints { key: key(), endpoints: ports.iter().map(endpoint).collect() };
            self.set.update(&Arc::new(endpoints), &Locality::default());
        }

        /// The endpoints as requests find them.
        fn healths(&self) -> Vec<Arc<Health>> {
            self.set.healths().into_iter().map(|(health, _)| health).collect()
        }

        fn ejected(&self) -> usize {
            let now = self.clock.now();
            let out = |health: &Arc<Health>| matches!(health.standing(now), Standing::Ejected { .. });
            self.healths().iter().filter(|health| out(health)).count()
        }

        fn fail(&self, index: usize, times: usize) {
            let healths = self.healths();
            (0..times).for_each(|_| healths[index].failed());
        }
    }

    fn key() -> EndpointsKey {
        let origin = Origin { kind: "Service".into(), namespace: "default".into(), name: "web".into() };
        EndpointsKey { origin, port: 80, transport: Transport::Tcp }
    }

    /// Twice as long each time, to the longest; after that long without a failure it begins anew.
    #[test]
    fn each_time_outside_is_longer_until_an_endpoint_did_well_for_long() {
        let judged = Judged::new();
        judged.update(&BTreeSet::from([1, 2]));
        let out_for = |judged: &Judged| {
            let mut seconds = 0;
            while judged.ejected() > 0 {
                judged.clock.advance(Duration::from_secs(1));
                seconds += 1;
            }
            seconds
        };
        judged.fail(0, 4);
        assert_eq!(judged.ejected(), 0);
        judged.fail(0, 1);
        let times: Vec<u64> = (0..6)
            .map(|_| {
                let time = out_for(&judged);
                judged.fail(0, 1); // on trial, one is enough
                time
            })
            .collect();
        assert_eq!(times, [30, 60, 120, 240, 300, 300]);
        assert_eq!(out_for(&judged), 300);
        judged.healths()[0].succeeded();
        judged.clock.advance(Duration::from_secs(299));
        judged.fail(0, 5);
        assert_eq!(out_for(&judged), 300);
        judged.healths()[0].succeeded();
        judged.clock.advance(Duration::from_secs(300));
        judged.fail(0, 5);
        assert_eq!(out_for(&judged), 30);
    }

    #[derive(Clone, Debug)]
    enum Event {
        Fail(prop::sample::Index, usize),
        Succeed(prop::sample::Index),
        Pass(u64),
        Change(BTreeSet<u16>),
    }

    fn event() -> impl Strategy<Value = Event> {
        let endpoint = || any::<prop::sample::Index>();
        prop_oneof![
            6 => (endpoint(), 1..8usize).prop_map(|(index, times)| Event::Fail(index, times)),
            3 => endpoint().prop_map(Event::Succeed),
            2 => (1..400u64).prop_map(Event::Pass),
            1 => prop::collection::btree_set(1..8u16, 1..7).prop_map(Event::Change),
        ]
    }

    proptest! {
        /// Whatever happens, no more than half are shut out, nobody before its fifth failure in a row, unless it was
        /// out before, and nobody for more than five minutes.
        #[test]
        fn no_more_than_half_are_shut_out_and_none_without_cause(events in prop::collection::vec(event(), 1..60)) {
            let judged = Judged::new();
            judged.update(&BTreeSet::from([1, 2, 3, 4, 5]));
            let mut rows = std::collections::HashMap::<u64, (usize, bool)>::new();
            for event in events {
                let healths = judged.healths();
                let ids: Vec<u64> = healths.iter().map(|health| health.id).collect();
                match event {
                    Event::Fail(index, times) => {
                        let index = index.index(ids.len());
                        judged.fail(index, times);
                        rows.entry(ids[index]).or_default().0 += times;
                    }
                    Event::Succeed(index) => {
                        let index = index.index(ids.len());
                        healths[index].succeeded();
                        rows.entry(ids[index]).or_default().0 = 0;
                    }
                    Event::Pass(seconds) => judged.clock.advance(Duration::from_secs(seconds)),
                    Event::Change(ports) => judged.update(&ports),
                }
                let now = judged.clock.now();
                prop_assert!(judged.ejected() <= judged.healths().len() / 2);
                for health in judged.healths() {
                    if let Standing::Ejected { until } = health.standing(now) {
                        prop_assert!(until <= now + 300_000);
                        let row = rows.entry(health.id).or_default();
                        prop_assert!(row.1 || row.0 >= 5, "{row:?}");
                        row.1 = true;
                    }
                }
            }
            judged.clock.advance(Duration::from_secs(300));
            prop_assert_eq!(judged.ejected(), 0);
        }
    }
}
