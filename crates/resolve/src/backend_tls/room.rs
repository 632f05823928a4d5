//! For which Gateways there is room in a policy's status. For the others it is not in effect, and as what it guards must
//! not be reached without it, what they lead to it fails.
//!
//! Source: `PolicyStatus.ancestors` field documentation.

use std::collections::{BTreeMap, BTreeSet};

use portcullis_api::status::ControllerName;
use portcullis_api::{Kind, ObjectKey};

use super::ancestors::GatewaysTo;
use super::targets::{targets, written_targets};
use crate::memo::Query;
use crate::view::View;

/// How many entries `status.ancestors` admits.
const MAX_ANCESTORS: usize = 16;

/// The Gateways of ours that lead to what a policy targets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Concerned {
    pub(super) policy: ObjectKey,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConcernedGateways {
    /// Those that have an entry, in order.
    pub(super) listed: BTreeSet<(ObjectKey, ControllerName)>,
    /// Those for which there is no room.
    without_room: BTreeSet<ObjectKey>,
}

impl Query for Concerned {
    type Value = ConcernedGateways;

    fn compute(&self, view: &View<'_>) -> ConcernedGateways {
        let backends: Vec<ObjectKey> = match view.backend_tls_policy(&self.policy) {
            Some(policy) => targets(&self.policy, &policy).map(|target| target.backend).collect(),
            None => view.refusal(&self.policy).map_or_else(Vec::new, |refusal| {
                written_targets(&self.policy, refusal).map(|target| target.backend).collect()
            }),
        };
        let mut gateways = BTreeSet::new();
        for backend in backends {
            gateways.extend(view.get(&GatewaysTo { backend }).iter().cloned());
        }
        let entries = view.ancestors(&self.policy);
        let (ours, foreign): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| view.engine().owns(&entry.controller));
        let room = MAX_ANCESTORS.saturating_sub(foreign.len());
        if gateways.len() <= room {
            return ConcernedGateways { listed: gateways, without_room: BTreeSet::new() };
        }
        // Those that stand there stay: one that comes later takes nobody's place.
        let stands = |gateway: &ObjectKey| ours.iter().any(|entry| entry.ancestor.as_ref() == Some(gateway));
        let (first, then): (Vec<_>, Vec<_>) = gateways.into_iter().partition(|(gateway, _)| stands(gateway));
        let mut all = first.into_iter().chain(then);
        let listed = all.by_ref().take(room).collect();
        ConcernedGateways { listed, without_room: all.map(|(gateway, _)| gateway).collect() }
    }
}

/// The policies that are not in effect, for want of room in their status, by the Gateways that lead to what they target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WithoutRoom;

impl Query for WithoutRoom {
    type Value = BTreeMap<ObjectKey, BTreeSet<ObjectKey>>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let mut by_gateway: BTreeMap<ObjectKey, BTreeSet<ObjectKey>> = BTreeMap::new();
        for policy in view.all(Kind::BackendTlsPolicy) {
            let concerned = view.get(&Concerned { policy: policy.clone() });
            for gateway in &concerned.without_room {
                by_gateway.entry(gateway.clone()).or_default().insert(policy.clone());
            }
        }
        by_gateway
    }
}

/// The policies that are not in effect for what a Gateway leads to: what they target must not be reached by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unapplied {
    pub(crate) gateway: ObjectKey,
}

impl Query for Unapplied {
    type Value = BTreeSet<ObjectKey>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        view.get(&WithoutRoom).get(&self.gateway).cloned().unwrap_or_default()
    }
}
