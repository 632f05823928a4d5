//! Which listeners of an object are accepted.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::ObjectKey;

use super::declared::DeclaredListeners;
use super::judgement::{Candidate, Claimant, Loss, Standing};
use crate::gateways::{Group, GroupOf};
use crate::listener_sets::{GroupSets, Place, PlaceOf};
use crate::memo::Query;
use crate::view::View;

/// What is decided about a listener, before the engine is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Decision {
    /// It is served as far as it can be.
    Accepted,
    /// Another listener stands in its way.
    Lost(Loss),
    /// Nobody can be let in or served: no CA certificate for its clients can be used, so that every handshake fails, or
    /// a filter cannot be run, so that every request does. It keeps its port and hostname.
    Shut,
    /// Something of its own refuses it.
    Refused,
    /// Its ListenerSet is not taken, so that nobody has judged it.
    Undecided,
}

/// The decisions about the listeners of a Gateway or ListenerSet, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decisions {
    pub(crate) owner: ObjectKey,
}

impl Decision {
    /// Whether the listener has its port and hostname, so that nobody else has them.
    pub(crate) fn stands(self) -> bool {
        matches!(self, Decision::Accepted | Decision::Shut)
    }
}

impl Query for Decisions {
    type Value = Vec<Decision>;

    fn compute(&self, view: &View<'_>) -> Vec<Decision> {
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let (gateway, sets) = match self.owner.kind {
            portcullis_api::Kind::ListenerSet => match &*view.get(&PlaceOf { set: self.owner.clone() }) {
                Place::Attached(gateway) => (gateway.clone(), true),
                _ => return vec![Decision::Undecided; listeners.len()],
            },
            _ => (self.owner.clone(), false),
        };
        let Some(leader) = view.get(&GroupOf { gateway }).leader().cloned() else {
            return vec![Decision::Undecided; listeners.len()];
        };
        let mut decisions = Vec::with_capacity(listeners.len());
        for listener in listeners.iter() {
            let losses = view.get(&Losses { leader: leader.clone(), port: listener.port, sets });
            let name = (self.owner.clone(), listener.name.shared());
            decisions.push(match losses.get(&name) {
                Some(loss) => Decision::Lost(*loss),
                None if !listener.refusals.is_empty() => Decision::Refused,
                None if !listener.shut.is_empty() => Decision::Shut,
                None => Decision::Accepted,
            });
        }
        decisions
    }
}

/// The listeners of a port that lost: those of Gateways, or those of ListenerSets, which are judged after all
/// Gateways' own. Only losers are named, so that a listener more or less disturbs nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Losses {
    leader: ObjectKey,
    port: u16,
    sets: bool,
}

type LossesByListener = HashMap<(ObjectKey, Arc<str>), Loss, FixedState>;

impl Query for Losses {
    type Value = LossesByListener;

    fn compute(&self, view: &View<'_>) -> LossesByListener {
        let group = view.get(&GroupOf { gateway: self.leader.clone() });
        let group: &Group = &group;
        let share = |one: usize, other: usize| group.share(one, other);
        let own = claims(view, &self.leader, false, self.port);
        let mut standing = Standing::new(&share);
        let losses = standing.judge(&own);
        if !self.sets {
            return by_listener(&own, losses);
        }
        let sets = claims(view, &self.leader, true, self.port);
        let losses = standing.judge(&sets);
        by_listener(&sets, losses)
    }
}

fn by_listener(claimants: &[Claimant], losses: Vec<(usize, Arc<str>, Loss)>) -> LossesByListener {
    let owner = |place: usize| claimants.get(place).map(|claimant| claimant.owner.clone());
    losses.into_iter().filter_map(|(place, name, loss)| Some(((owner(place)?, name), loss))).collect()
}

fn claims(view: &View<'_>, leader: &ObjectKey, sets: bool, port: u16) -> Arc<Vec<Claimant>> {
    let by_port = view.get(&Claims { leader: leader.clone(), sets });
    by_port.get(&port).cloned().unwrap_or_default()
}

/// What a group's Gateways, or their ListenerSets, claim: by port, in merged order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Claims {
    leader: ObjectKey,
    sets: bool,
}

impl Query for Claims {
    type Value = BTreeMap<u16, Arc<Vec<Claimant>>>;

    fn compute(&self, view: &View<'_>) -> BTreeMap<u16, Arc<Vec<Claimant>>> {
        let mut by_port: BTreeMap<u16, Vec<Claimant>> = BTreeMap::new();
        let mut add = |owner: &ObjectKey, gateway: usize| {
            for listener in view.get(&DeclaredListeners { owner: owner.clone() }).iter() {
                let Some(claim) = listener.claim() else { continue };
                let refused = !listener.refusals.is_empty();
                let candidate = Candidate { name: listener.name.shared(), claim, refused };
                let claimants = by_port.entry(listener.port).or_default();
                match claimants.last_mut().filter(|last| last.owner == *owner) {
                    Some(last) => last.entries.push(candidate),
                    None => {
                        claimants.push(Claimant { owner: owner.clone(), gateway, entries: vec![candidate] });
                    }
                }
            }
        };
        if self.sets {
            for (set, gateway) in view.get(&GroupSets { leader: self.leader.clone() }).iter() {
                add(set, *gateway);
            }
        } else {
            let group = view.get(&GroupOf { gateway: self.leader.clone() });
            for (index, member) in group.members.iter().enumerate() {
                add(&member.gateway, index);
            }
        }
        by_port.into_iter().map(|(port, claimants)| (port, Arc::new(claimants))).collect()
    }
}
