//! What is said about a ListenerSet.

use portcullis_api::listener_set::ListenerSetStatus;
use portcullis_api::status::Condition;
use portcullis_api::{FieldPath, ObjectKey};

use super::{Place, PlaceOf};
use crate::causes::{
    Cause, SET_LISTENERS_NOT_VALID, SET_NOT_ALLOWED, SET_PARENT_NOT_ACCEPTED, SET_PARENT_NOT_PROGRAMMED,
    SET_PARENT_UNKNOWN,
};
use crate::finding::{Conditions, Finding, condition};
use crate::gateways::{GatewayProgrammed, ProgrammedState};
use crate::listeners::{self, DeclaredListeners, ListenerState, ListenerStates, Programmed};
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// Whether a ListenerSet counts as attached: its Gateway takes it, and an entry of it is good.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IsGood {
    pub(crate) set: ObjectKey,
}

impl Query for IsGood {
    type Value = bool;

    fn compute(&self, view: &View<'_>) -> bool {
        matches!(&*view.get(&PlaceOf { set: self.set.clone() }), Place::Attached(_))
            && view.get(&ListenerStates { owner: self.set.clone() }).iter().any(ListenerState::is_good)
    }
}

/// The status of a ListenerSet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for SetOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(set) = view.listener_set(&self.key) else { return Outcome::default() };
        let generation = set.metadata.generation.unwrap_or(1);
        let parent = FieldPath::of("spec").field("parentRef");
        let mut findings = Vec::new();
        let mut refuse = |cause: &'static Cause| {
            findings.push(Finding::plain(cause, parent.clone()));
            let mut conditions = Conditions::at(generation);
            conditions.no(condition::ACCEPTED, cause.reason, cause.rule.summary);
            conditions.no(condition::PROGRAMMED, cause.reason, cause.rule.summary);
            conditions.finish()
        };
        let conditions = match &*view.get(&PlaceOf { set: self.key.clone() }) {
            Place::Nowhere => {
                let finding = Finding::plain(&SET_PARENT_UNKNOWN, parent);
                return Outcome::new(&self.key, None, &[finding]);
            }
            Place::NotAllowed(_) => refuse(&SET_NOT_ALLOWED),
            Place::ParentNotAccepted(_) => refuse(&SET_PARENT_NOT_ACCEPTED),
            Place::Attached(gateway) => attached(view, &self.key, gateway, generation, &mut findings),
        };
        findings.extend(listeners::findings(view, &self.key));
        let listeners = listeners::statuses(view, &self.key, generation);
        let status = ListenerSetStatus { conditions, listeners };
        Outcome::new(&self.key, Some(Status::ListenerSet(status)), &findings)
    }
}

/// Source: GEP-1713: one good entry makes the set accepted and programmed; the parent's troubles show on
/// Programmed alone.
fn attached(
    view: &View<'_>,
    set: &ObjectKey,
    gateway: &ObjectKey,
    generation: i64,
    findings: &mut Vec<Finding>,
) -> Vec<Condition> {
    let declared = view.get(&DeclaredListeners { owner: set.clone() });
    let states = view.get(&ListenerStates { owner: set.clone() });
    let bad: Vec<&str> = declared
        .iter()
        .zip(states.iter())
        .filter(|(_, state)| !state.is_good())
        .map(|(listener, _)| listener.name.as_str())
        .collect();
    let mut conditions = Conditions::at(generation);
    let path = FieldPath::of("spec").field("listeners");
    let message = format!("listeners that cannot be served: {}", bad.join(", "));
    if !bad.is_empty() {
        findings.push(Finding::new(&SET_LISTENERS_NOT_VALID, path, message.as_str()));
    }
    if bad.len() == states.len() {
        conditions.no(condition::ACCEPTED, SET_LISTENERS_NOT_VALID.reason, message.as_str());
        conditions.no(condition::PROGRAMMED, SET_LISTENERS_NOT_VALID.reason, message);
        return conditions.finish();
    }
    match bad.is_empty() {
        true => conditions.yes(condition::ACCEPTED, "Accepted", "the ListenerSet is accepted"),
        false => conditions.yes(condition::ACCEPTED, SET_LISTENERS_NOT_VALID.reason, message),
    }
    let served = states.iter().any(|state| state.programmed == Programmed::Yes);
    match (&*view.get(&GatewayProgrammed { gateway: gateway.clone() }), served) {
        (ProgrammedState::No(..), _) => {
            let cause = &SET_PARENT_NOT_PROGRAMMED;
            findings.push(Finding::plain(cause, FieldPath::of("spec").field("parentRef")));
            conditions.no(condition::PROGRAMMED, cause.reason, cause.rule.summary);
        }
        (ProgrammedState::Yes, true) => {
            conditions.yes(condition::PROGRAMMED, "Programmed", "the ListenerSet is served");
        }
        _ => conditions.pending(condition::PROGRAMMED, "the engine has not confirmed the listeners yet"),
    }
    conditions.finish()
}
