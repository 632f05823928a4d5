//! What holds of every status, whatever the case is about.

use portcullis_api::ObjectKey;
use portcullis_api::status::{Condition, ConditionStatus};
use portcullis_model::{HostPattern, Listener, ListenerProtocol};
use portcullis_resolve::{Resolved, Status};
use portcullis_store::Store;

/// Sources: the field documentation of the conditions: each listener always carries Accepted, Programmed and
/// ResolvedRefs, each parent of a route Accepted and ResolvedRefs; `observedGeneration` is the object's generation
/// in all conditions; a type occurs once. Messages are one line, for
/// tables and logs print them.
pub(crate) fn broken(resolved: &Resolved, store: &Store) -> Vec<String> {
    let mut broken = Vec::new();
    for (key, status) in &resolved.statuses {
        let generation = store.get(key).and_then(|object| object.metadata().generation).unwrap_or(1);
        for (part, conditions, always) in parts(status) {
            let mut say = |what: String| broken.push(format!("{key} {part}: {what}"));
            for condition_type in always {
                if !conditions.iter().any(|found| found.condition_type.as_str() == *condition_type) {
                    say(format!("{condition_type} is missing"));
                }
            }
            for condition in conditions {
                check(condition, conditions, generation, &mut say);
            }
        }
        if let Some(fault) = more_programmed_than_accepted(status) {
            broken.push(format!("{key}: {fault}"));
        }
    }
    for diagnostic in resolved.diagnostics.values().flat_map(|list| list.iter()) {
        if diagnostic.message.contains('\n') {
            broken.push(format!("a finding is not one line: {:?}", diagnostic.message));
        }
    }
    broken.extend(unknown(resolved, store));
    broken.extend(indistinct(resolved));
    broken
}

/// Gateway.spec.listeners, "Distinct Listeners": an engine never gets two listeners of a port between which it could
/// not choose by server name or Host, nor a protocol without either beside another.
fn indistinct(resolved: &Resolved) -> Vec<String> {
    let mut broken = Vec::new();
    for (address, port) in &resolved.model.ports {
        let all: Vec<Chosen<'_>> = port.listeners.iter().map(|listener| Chosen::of(listener)).collect();
        let twice = (0..all.len()).any(|place| all[..place].contains(&all[place]));
        if twice || (all.contains(&Chosen::Always) && all.len() > 1) {
            broken.push(format!("listeners of {address:?} that are not distinct"));
        }
    }
    broken
}

/// By what a listener is chosen from those of its port.
#[derive(PartialEq)]
enum Chosen<'a> {
    ByHost(&'a HostPattern),
    ByServerName(&'a HostPattern),
    Always,
}

impl Chosen<'_> {
    fn of(listener: &Listener) -> Chosen<'_> {
        match listener.protocol {
            ListenerProtocol::Http => Chosen::ByHost(&listener.hostname),
            ListenerProtocol::Tcp(_) | ListenerProtocol::Udp(_) => Chosen::Always,
            _ => Chosen::ByServerName(&listener.hostname),
        }
    }
}

fn check(condition: &Condition, all: &[Condition], generation: i64, say: &mut impl FnMut(String)) {
    let name = condition.condition_type.as_str();
    if condition.observed_generation != Some(generation) {
        say(format!(
            "{name} is of generation {:?}, the object of {generation}",
            condition.observed_generation
        ));
    }
    if all.iter().filter(|other| other.condition_type == condition.condition_type).count() != 1 {
        say(format!("{name} is there twice"));
    }
    if condition.message.is_empty() || condition.message.contains('\n') {
        say(format!("the message of {name} is not one line: {:?}", condition.message));
    }
}

type Part<'a> = (String, &'a [Condition], &'static [&'static str]);

fn parts(status: &Status) -> Vec<Part<'_>> {
    const LISTENER: &[&str] = &["Accepted", "Programmed", "ResolvedRefs"];
    const ROUTE: &[&str] = &["Accepted", "ResolvedRefs"];
    let (whole, listeners): (Part<'_>, _) = match status {
        Status::GatewayClass(status) => {
            (("class".into(), &status.conditions, &["Accepted", "SupportedVersion"]), None)
        }
        Status::Gateway(status) => {
            (("gateway".into(), &status.conditions, LISTENER), Some(&status.listeners))
        }
        Status::ListenerSet(status) => {
            (("set".into(), &status.conditions, &["Accepted", "Programmed"]), Some(&status.listeners))
        }
        Status::Route(status) => {
            let parents = status.parents.iter();
            return parents.map(|one| (one.parent_ref.name.to_string(), &*one.conditions, ROUTE)).collect();
        }
        Status::Policy(status) => {
            let ancestors = status.ancestors.iter();
            return ancestors
                .map(|one| (one.ancestor_ref.name.to_string(), &*one.conditions, ROUTE))
                .collect();
        }
    };
    let listeners = listeners.into_iter().flatten();
    let listeners = listeners.map(|one| (one.name.to_string(), &*one.conditions, LISTENER));
    std::iter::once(whole).chain(listeners).collect()
}

/// A listener that is not accepted is not programmed.
fn more_programmed_than_accepted(status: &Status) -> Option<String> {
    let listeners = match status {
        Status::Gateway(status) => &status.listeners,
        Status::ListenerSet(status) => &status.listeners,
        _ => return None,
    };
    let is_true = |conditions: &[Condition], name: &str| {
        let mut found = conditions.iter().filter(|condition| condition.condition_type.as_str() == name);
        found.any(|condition| condition.status == ConditionStatus::True)
    };
    let both = listeners.iter().find(|listener| {
        is_true(&listener.conditions, "Programmed") && !is_true(&listener.conditions, "Accepted")
    });
    both.map(|listener| format!("{} is programmed and not accepted", listener.name))
}

/// Nothing is said of what is not there.
fn unknown(resolved: &Resolved, store: &Store) -> Vec<String> {
    let said: Vec<&ObjectKey> = resolved.statuses.keys().chain(resolved.diagnostics.keys()).collect();
    let gone = said.into_iter().filter(|key| store.get(key).is_none());
    gone.map(|key| format!("{key} is not there, and something is said of it")).collect()
}
