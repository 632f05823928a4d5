//! What cases expect, compared with what was resolved.

use portcullis_api::gateway::GatewayStatusAddress;
use portcullis_api::listener::ListenerStatus;
use portcullis_api::references::ParentRef;
use portcullis_api::status::Condition;
use portcullis_resolve::{Resolved, Status};
use serde_json::{Map, Value};

use super::given::key_of;
use super::served;

/// Where two resolutions differ, in any part.
pub(crate) fn difference(one: &Resolved, other: &Resolved) -> Option<String> {
    for (key, status) in &other.statuses {
        if one.statuses.get(key) != Some(status) {
            return Some(format!("the status of {key}: {:?} and {status:?}", one.statuses.get(key)));
        }
    }
    for (key, found) in &other.diagnostics {
        if one.diagnostics.get(key) != Some(found) {
            return Some(format!("the findings of {key}: {:?} and {found:?}", one.diagnostics.get(key)));
        }
    }
    if one.statuses.len() != other.statuses.len() || one.diagnostics.len() != other.diagnostics.len() {
        return Some("something is said of an object that is gone".to_owned());
    }
    let (one, other) = (&one.model, &other.model);
    if one.ports != other.ports {
        return Some(format!("ports: {:?} and {:?}", one.ports, other.ports));
    }
    if one.clusters != other.clusters {
        return Some(format!("clusters: {:?} and {:?}", one.clusters, other.clusters));
    }
    (one.endpoints != other.endpoints)
        .then(|| format!("endpoints: {:?} and {:?}", one.endpoints, other.endpoints))
}

/// What of an expectation does not hold.
pub(crate) fn check(expect: &Value, resolved: &Resolved) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, expected) in expect.as_object().into_iter().flatten() {
        match name.as_str() {
            "model" => served::check(expected, &resolved.model, &mut failures),
            _ => object(name, expected, resolved, &mut failures),
        }
    }
    failures
}

fn object(name: &str, expected: &Value, resolved: &Resolved, failures: &mut Vec<String>) {
    let key = match key_of(name) {
        Ok(key) => key,
        Err(error) => return failures.push(error),
    };
    let mut fields = expected.as_object().cloned().unwrap_or_default();
    if let Some(codes) = fields.remove("findings") {
        let found = resolved.diagnostics.get(&key);
        let mut found: Vec<&str> =
            found.iter().flat_map(|list| list.iter()).map(|found| found.rule.code).collect();
        found.dedup();
        same(&format!("{name} findings"), &codes, &found.into(), failures);
    }
    let status = resolved.statuses.get(&key);
    if fields.remove("status").is_some_and(|status| status == "none") {
        if let Some(status) = status {
            failures.push(format!("{name} has a status: {status:?}"));
        }
        return;
    }
    if fields.is_empty() {
        return;
    }
    match status {
        Some(status) => said(name, fields, status, failures),
        None => failures.push(format!("{name} has no status")),
    }
}

fn said(name: &str, mut fields: Map<String, Value>, status: &Status, failures: &mut Vec<String>) {
    let mut list = |field: &str, found: Value, failures: &mut Vec<String>| {
        if let Some(expected) = fields.remove(field) {
            same(&format!("{name} {field}"), &expected, &found, failures);
        }
    };
    match status {
        Status::GatewayClass(status) => {
            let features = status.supported_features.iter().map(|feature| &*feature.name);
            list("supportedFeatures", features.collect(), failures);
            conditions(name, &fields, &status.conditions, failures);
        }
        Status::Gateway(status) => {
            let addresses: Vec<String> = status.addresses.iter().map(shown).collect();
            list("addresses", addresses.iter().map(String::as_str).collect(), failures);
            list("attachedListenerSets", status.attached_listener_sets.into(), failures);
            listeners(name, &mut fields, &status.listeners, failures);
            conditions(name, &fields, &status.conditions, failures);
        }
        Status::ListenerSet(status) => {
            listeners(name, &mut fields, &status.listeners, failures);
            conditions(name, &fields, &status.conditions, failures);
        }
        Status::Route(status) => {
            let found = status.parents.iter().map(|parent| (&parent.parent_ref, &parent.conditions));
            parents(name, fields, "parents", &found.collect::<Vec<_>>(), failures);
        }
        Status::Policy(status) => {
            let found = status.ancestors.iter().map(|one| (&one.ancestor_ref, &one.conditions));
            parents(name, fields, "ancestors", &found.collect::<Vec<_>>(), failures);
        }
    }
}

/// An address of a Gateway, and for whom it is where that is told.
fn shown(address: &GatewayStatusAddress) -> String {
    match address.routability.as_deref().unwrap_or_default() {
        "" => address.value.to_string(),
        routability => format!("{} for {routability}", address.value),
    }
}

fn listeners(
    name: &str,
    fields: &mut Map<String, Value>,
    found: &[ListenerStatus],
    failures: &mut Vec<String>,
) {
    if let Some(expected) = fields.remove("listenerNames") {
        let names: Vec<&str> = found.iter().map(|status| status.name.as_str()).collect();
        same(&format!("{name} listenerNames"), &expected, &names.into(), failures);
    }
    let Some(expected) = fields.remove("listeners") else { return };
    for (listener, expected) in expected.as_object().into_iter().flatten() {
        let label = format!("{name} {listener}");
        let Some(status) = found.iter().find(|status| status.name.as_str() == listener) else {
            failures.push(format!("{label} has no status"));
            continue;
        };
        let mut fields = expected.as_object().cloned().unwrap_or_default();
        if let Some(expected) = fields.remove("attachedRoutes") {
            same(&format!("{label} attachedRoutes"), &expected, &status.attached_routes.into(), failures);
        }
        if let Some(expected) = fields.remove("supportedKinds") {
            let kinds: Vec<&str> = status.supported_kinds.iter().map(|kind| kind.kind.as_str()).collect();
            same(&format!("{label} supportedKinds"), &expected, &kinds.into(), failures);
        }
        conditions(&label, &fields, &status.conditions, failures);
    }
}

type Entry<'a> = (&'a ParentRef, &'a Vec<Condition>);

/// A list of entries, each with `ref: name`, `ref: name/section` or `ref: name:port`, in the order of the status.
fn parents(
    name: &str,
    mut fields: Map<String, Value>,
    list: &str,
    found: &[Entry<'_>],
    failures: &mut Vec<String>,
) {
    let expected = fields.remove(list).unwrap_or_default();
    let expected = expected.as_array().cloned().unwrap_or_default();
    failures.extend(fields.keys().map(|field| format!("{name} has no {field}")));
    if expected.len() != found.len() {
        let refs: Vec<String> = found.iter().map(|(reference, _)| short(reference)).collect();
        failures.push(format!("{name} has the {list} {}", refs.join(", ")));
        return;
    }
    for (expected, (reference, found)) in expected.iter().zip(found) {
        let mut fields = expected.as_object().cloned().unwrap_or_default();
        let label = format!("{name} {}", short(reference));
        if let Some(expected) = fields.remove("ref") {
            same(&label, &expected, &short(reference).into(), failures);
        }
        conditions(&label, &fields, found, failures);
    }
}

fn short(reference: &ParentRef) -> String {
    let section = reference.section_name.as_ref().map(|section| format!("/{section}")).unwrap_or_default();
    let port = reference.port.map(|port| format!(":{}", port.get())).unwrap_or_default();
    format!("{}{section}{port}", reference.name)
}

/// Conditions that are there only while True, so that one that a case does not name must be absent.
const ONLY_WHILE_TRUE: [&str; 5] = [
    "Conflicted",
    "OverlappingTLSConfig",
    "PartiallyInvalid",
    "InsecureFrontendValidationMode",
    "DefaultGateway",
];

/// `Type: Status/Reason`, then `~ words` for what the message must have, or `!~ words` for what it must not, or
/// `= message`; `Type: absent`.
fn conditions(label: &str, expected: &Map<String, Value>, found: &[Condition], failures: &mut Vec<String>) {
    let mut expected = expected.clone();
    for condition_type in ONLY_WHILE_TRUE {
        expected.entry(condition_type).or_insert("absent".into());
    }
    for (condition_type, expected) in &expected {
        let mut words = expected.as_str().unwrap_or_default().split(" ~ ");
        let verdict = words.next().unwrap_or_default();
        let found = found.iter().find(|condition| condition.condition_type.as_str() == condition_type);
        let text = found.map_or("absent".to_owned(), |found| format!("{}/{}", found.status, found.reason));
        let message = found.map(|found| &*found.message).unwrap_or_default();
        let (verdict, unsaid) = match verdict.split_once(" !~ ") {
            Some((verdict, unsaid)) => (verdict, Some(unsaid)),
            None => (verdict, None),
        };
        let (verdict, exact) = verdict.split_once(" = ").unwrap_or((verdict, message));
        if verdict != text {
            failures.push(format!("{label} {condition_type}: {text} ({message}), expected {verdict}"));
            continue;
        }
        for words in words.filter(|words| !message.contains(words)) {
            failures.push(format!("{label} {condition_type}: {message:?} does not say {words:?}"));
        }
        if message != exact {
            failures.push(format!("{label} {condition_type}: {message:?}, expected {exact:?}"));
        }
        if let Some(unsaid) = unsaid.filter(|unsaid| message.contains(unsaid)) {
            failures.push(format!("{label} {condition_type}: {message:?} says {unsaid:?}"));
        }
    }
}

pub(crate) fn same(label: &str, expected: &Value, found: &Value, failures: &mut Vec<String>) {
    if expected != found {
        failures.push(format!("{label}: {found}, expected {expected}"));
    }
}
