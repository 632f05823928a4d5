//! Who is shut out, for how long, and that enough stay.

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
        let endpoint = |port: &u16| Endpoint::ready(EndpointAddress::Socket(([10, 0, 0, 1], *port).into()));
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
