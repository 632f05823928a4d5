//! ListenerSets: whether their Gateway takes them, in which order, and what is said about them.

mod status;

use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};

use crate::age::Seniority;
use crate::gateways::{AllowedSets, GroupOf, IsServed, OurGateway};
use crate::listeners::parent_of;
use crate::memo::Query;
use crate::view::View;
pub(crate) use status::{IsGood, SetOutcome};

/// Where a ListenerSet stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its parent is absent, of another kind or not ours: nothing is said about it.
    Nowhere,
    /// Its Gateway does not take it.
    NotAllowed(ObjectKey),
    /// Its Gateway is not accepted.
    ParentNotAccepted(ObjectKey),
    /// Its entries count among the listeners of this Gateway.
    Attached(ObjectKey),
}

/// Where a ListenerSet stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlaceOf {
    pub(crate) set: ObjectKey,
}

impl Query for PlaceOf {
    type Value = Place;

    /// Source: GEP-1713, `Gateway.spec.allowedListeners`.
    fn compute(&self, view: &View<'_>) -> Place {
        let Some(gateway) = parent_of(view, &self.set) else { return Place::Nowhere };
        if view.get(&OurGateway { key: gateway.clone() }).is_none() {
            return Place::Nowhere;
        }
        if !view.get(&AllowedSets { gateway: gateway.clone() }).admits(view, &self.set.namespace) {
            Place::NotAllowed(gateway)
        } else if *view.get(&IsServed { gateway: gateway.clone() }) {
            Place::Attached(gateway)
        } else {
            Place::ParentNotAccepted(gateway)
        }
    }
}

/// When a ListenerSet came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SetSeniority {
    set: ObjectKey,
}

impl Query for SetSeniority {
    type Value = Option<Seniority>;

    fn compute(&self, view: &View<'_>) -> Option<Seniority> {
        Some(Seniority::of(&self.set, &view.listener_set(&self.set)?.metadata))
    }
}

/// The attached ListenerSets of a group of Gateways in merged order, each with its Gateway's place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupSets {
    pub(crate) leader: ObjectKey,
}

impl Query for GroupSets {
    type Value = Vec<(ObjectKey, usize)>;

    fn compute(&self, view: &View<'_>) -> Vec<(ObjectKey, usize)> {
        let group = view.get(&GroupOf { gateway: self.leader.clone() });
        let mut sets: Vec<(Arc<Option<Seniority>>, ObjectKey, usize)> = Vec::new();
        for (index, member) in group.members.iter().enumerate() {
            for set in view.attached(Kind::ListenerSet, &member.gateway) {
                if matches!(&*view.get(&PlaceOf { set: set.clone() }), Place::Attached(to) if *to == member.gateway)
                {
                    sets.push((view.get(&SetSeniority { set: set.clone() }), set, index));
                }
            }
        }
        sets.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        sets.into_iter().map(|(_, set, index)| (set, index)).collect()
    }
}
