//! What is said about a listener.

use portcullis_api::listener::{ListenerStatus, RouteGroupKind};
use portcullis_api::names::{Group, KindName};
use portcullis_api::status::Condition;
use portcullis_api::{Kind, ObjectKey};

use super::claim::Conflict;
use super::decisions::Decision;
use super::declared::{Declared, DeclaredListeners, parent_of};
use super::judgement::Loss;
use super::overlap::Overlap;
use super::overlaps::Overlaps;
use super::state::{ListenerState, ListenerStates, Programmed};
use crate::attachment::RouteCount;
use crate::causes::{
    Cause, LISTENER_HOSTNAME_CONFLICT, LISTENER_OPTION_DROPPED, LISTENER_OVERLAPPING_CERTIFICATES,
    LISTENER_OVERLAPPING_HOSTNAMES, LISTENER_PORT_IN_USE, LISTENER_PORT_SHARED, LISTENER_PROTOCOL_CONFLICT,
};
use crate::finding::{Conditions, Finding, condition, messages};
use crate::gateways::GroupOf;
use crate::view::View;

/// The statuses of the listeners of a Gateway or ListenerSet, in their order.
pub(crate) fn statuses(view: &View<'_>, owner: &ObjectKey, generation: i64) -> Vec<ListenerStatus> {
    let listeners = view.get(&DeclaredListeners { owner: owner.clone() });
    let states = view.get(&ListenerStates { owner: owner.clone() });
    let pairs = listeners.iter().zip(states.iter());
    let statuses = pairs.map(|(listener, state)| {
        let routes = view.get(&RouteCount { owner: owner.clone(), name: listener.name.shared() });
        ListenerStatus {
            name: listener.name.clone(),
            supported_kinds: listener.kinds.iter().filter_map(|kind| route_kind(*kind)).collect(),
            attached_routes: i32::try_from(*routes).unwrap_or(i32::MAX),
            conditions: conditions(listener, state, overlap(view, owner, listener), generation),
        }
    });
    statuses.collect()
}

fn route_kind(kind: Kind) -> Option<RouteGroupKind> {
    Some(RouteGroupKind { group: Group::gateway_api(), kind: KindName::new(kind.as_str()).ok()? })
}

fn overlap(view: &View<'_>, owner: &ObjectKey, listener: &Declared) -> Option<Overlap> {
    listener.tls.as_ref()?;
    let leader = view.get(&GroupOf { gateway: parent_of(view, owner)? }).leader().cloned()?;
    let overlaps = view.get(&Overlaps { leader, port: listener.port });
    overlaps.get(&(owner.clone(), listener.name.shared())).copied()
}

/// Every listener always has Accepted, Programmed and ResolvedRefs; the others only while True.
fn conditions(
    listener: &Declared,
    state: &ListenerState,
    overlap: Option<Overlap>,
    generation: i64,
) -> Vec<Condition> {
    let mut conditions = Conditions::at(generation);
    let verdict = Verdict::of(listener, state);
    match &verdict {
        Verdict::Accepted(message) => conditions.yes(condition::ACCEPTED, "Accepted", message.clone()),
        Verdict::Refused(cause, message) => conditions.no(condition::ACCEPTED, cause.reason, message.clone()),
        Verdict::Undecided => conditions.pending(condition::ACCEPTED, "the ListenerSet is not accepted"),
    }
    match (&state.programmed, &verdict) {
        (Programmed::Yes, _) => conditions.yes(condition::PROGRAMMED, "Programmed", "the listener is served"),
        (Programmed::Pending, _) => {
            conditions.pending(condition::PROGRAMMED, "the engine has not confirmed the listener yet");
        }
        (_, Verdict::Refused(cause, message)) if shows_on_programmed(cause) => {
            conditions.no(condition::PROGRAMMED, cause.reason, message.clone());
        }
        (Programmed::PortUnavailable(why), _) => {
            conditions.no(condition::PROGRAMMED, LISTENER_PORT_IN_USE.reason, why.as_str());
        }
        (Programmed::NoAddress, _) => {
            let why = "the Gateway has no address that can be bound";
            conditions.no(condition::PROGRAMMED, "Invalid", why);
        }
        (Programmed::No(why), _) => conditions.no(condition::PROGRAMMED, "Invalid", *why),
    }
    let unresolved = unresolved(listener, state);
    let resolved = "all references are resolved";
    conditions.resolved(condition::RESOLVED_REFS, "ResolvedRefs", resolved, &unresolved);
    if let Verdict::Refused(cause, message) = &verdict
        && is_conflict(cause)
    {
        conditions.yes(condition::CONFLICTED, cause.reason, message.clone());
    }
    if let Some(cause) = overlap.map(overlap_cause) {
        conditions.yes(condition::OVERLAPPING_TLS, cause.reason, cause.rule.summary);
    }
    conditions.finish()
}

/// What is said about Accepted.
enum Verdict {
    Accepted(String),
    Refused(&'static Cause, String),
    Undecided,
}

impl Verdict {
    fn of(listener: &Declared, state: &ListenerState) -> Verdict {
        match (state.decision, &state.programmed) {
            (Decision::Accepted, Programmed::PortUnavailable(why)) => {
                Verdict::Refused(&LISTENER_PORT_IN_USE, why.clone())
            }
            (Decision::Accepted, _) => Verdict::Accepted(accepted_message(listener)),
            (Decision::Lost(loss), _) => {
                let cause = loss_cause(loss);
                Verdict::Refused(cause, cause.rule.summary.to_owned())
            }
            (Decision::Refused, _) => match listener.refusals.first() {
                Some(first) => Verdict::Refused(first.cause, messages(&listener.refusals)),
                None => Verdict::Undecided,
            },
            (Decision::Shut, _) => match listener.shut.first() {
                Some(first) => Verdict::Refused(first.cause, messages(&listener.shut)),
                None => Verdict::Undecided,
            },
            (Decision::Undecided, _) => Verdict::Undecided,
        }
    }
}

/// The options that were left out are told here too.
fn accepted_message(listener: &Declared) -> String {
    let dropped: Vec<&Finding> =
        listener.notes.iter().filter(|note| note.cause == &LISTENER_OPTION_DROPPED).collect();
    if dropped.is_empty() { "the listener is accepted".to_owned() } else { messages(dropped) }
}

fn loss_cause(loss: Loss) -> &'static Cause {
    match loss {
        Loss::Conflict(Conflict::Hostname) => &LISTENER_HOSTNAME_CONFLICT,
        Loss::Conflict(Conflict::Protocol) => &LISTENER_PROTOCOL_CONFLICT,
        Loss::Shared => &LISTENER_PORT_SHARED,
    }
}

fn overlap_cause(overlap: Overlap) -> &'static Cause {
    match overlap {
        Overlap::Hostnames => &LISTENER_OVERLAPPING_HOSTNAMES,
        Overlap::Certificates => &LISTENER_OVERLAPPING_CERTIFICATES,
    }
}

fn is_conflict(cause: &Cause) -> bool {
    cause == &LISTENER_HOSTNAME_CONFLICT || cause == &LISTENER_PROTOCOL_CONFLICT
}

/// Conflicts give Programmed their own reason, as ports in use do.
fn shows_on_programmed(cause: &Cause) -> bool {
    is_conflict(cause) || cause == &LISTENER_PORT_SHARED
}

/// What does not resolve, the gravest first.
fn unresolved(listener: &Declared, state: &ListenerState) -> Vec<Finding> {
    const ORDER: [&str; 6] = [
        "RefNotPermitted",
        "InvalidCertificateRef",
        "InvalidCACertificateKind",
        "InvalidCACertificateRef",
        "InvalidListenerFilterRef",
        "InvalidRouteKinds",
    ];
    let rank = |finding: &Finding| ORDER.iter().position(|reason| *reason == finding.cause.reason);
    let mut findings = state.tls.unresolved.clone();
    findings.extend(state.filters.unresolved.iter().chain(&listener.invalid_kinds).cloned());
    findings.sort_by_key(|finding| rank(finding).unwrap_or(ORDER.len()));
    findings
}

/// Everything found about the listeners of an object.
pub(crate) fn findings(view: &View<'_>, owner: &ObjectKey) -> Vec<Finding> {
    let listeners = view.get(&DeclaredListeners { owner: owner.clone() });
    let states = view.get(&ListenerStates { owner: owner.clone() });
    let mut findings = Vec::new();
    for (listener, state) in listeners.iter().zip(states.iter()) {
        if let Decision::Lost(loss) = state.decision {
            findings.push(Finding::plain(loss_cause(loss), listener.path.clone()));
        }
        if let Programmed::PortUnavailable(why) = &state.programmed {
            findings.push(Finding::new(&LISTENER_PORT_IN_USE, listener.path.field("port"), why.as_str()));
        }
        findings.extend(listener.refusals.iter().chain(&listener.shut).cloned());
        findings.extend(unresolved(listener, state));
        if let Some(overlap) = overlap(view, owner, listener) {
            findings.push(Finding::plain(overlap_cause(overlap), listener.path.clone()));
        }
        findings.extend(listener.notes.iter().chain(&state.filters.notes).cloned());
    }
    findings
}
