//! Whether portcullis-api and whoever judges say the same.

use std::collections::BTreeMap;

use portcullis_api::{Diagnostic, Object, Severity, admit_stored, duration::Duration};
use serde_json::Value;

use crate::{Cause, Verdict, coverage::Trial};

/// Shows the first disagreement of each kind between portcullis-api and the verdicts.
///
/// # Panics
/// When there is one.
pub fn assert_agreement(trials: &[Trial], verdicts: &[Verdict]) {
    let mut kinds = BTreeMap::<String, (usize, String)>::new();
    for (trial, verdict) in trials.iter().zip(verdicts) {
        for what in disagreements(trial.object.clone(), verdict) {
            let details = || format!("{}: {what}\n    {}", trial.name, trial.object);
            let kind = what.split('|').next().unwrap_or_default().to_owned();
            kinds.entry(kind).or_insert_with(|| (0, details())).0 += 1;
        }
    }
    let total: usize = kinds.values().map(|(count, _)| count).sum();
    let shown: Vec<_> = kinds.values().map(|(count, first)| format!("{count} × {first}")).collect();
    assert!(kinds.is_empty(), "{total} disagreements of {} kinds:\n{}", kinds.len(), shown.join("\n"));
}

/// What we say otherwise than the referee, each as `kind | particulars`.
fn disagreements(object: Value, verdict: &Verdict) -> Vec<String> {
    let admitted = admit_stored(object);
    let (errors, notes): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        admitted.diagnostics.iter().partition(|diagnostic| diagnostic.is_error());
    let mut found = Vec::new();
    if verdict.allowed != errors.is_empty() {
        found.push(format!("verdict {} | {:?} but {}", verdict.allowed, verdict.causes, listed(&errors)));
    }
    for cause in &verdict.causes {
        if !errors.iter().any(|error| is_within(&error.path.to_string(), &cause.path)) {
            found.push(format!("cause not found: {} | {cause:?} but {}", kind_of(cause), listed(&errors)));
        }
    }
    for error in &errors {
        let path = error.path.to_string();
        if !verdict.causes.iter().any(|cause| is_within(&path, &cause.path)) {
            found.push(format!("invented: {} | {error} but {:?}", error.rule.code, verdict.causes));
        }
    }
    found.extend(unknown_fields(&notes, verdict));
    if verdict.allowed
        && let Some(object) = &admitted.object
    {
        let ours = written(object);
        if plain(&ours) != plain(&verdict.defaulted) {
            found.push(format!("defaults | {ours} but {}", verdict.defaulted));
        }
    }
    found
}

fn written(object: &Object) -> Value {
    let written = match object {
        Object::GatewayClass(object) => serde_json::to_value(object),
        Object::Gateway(object) => serde_json::to_value(object),
        Object::ListenerSet(object) => serde_json::to_value(object),
        Object::HttpRoute(object) => serde_json::to_value(object),
        Object::GrpcRoute(object) => serde_json::to_value(object),
        Object::TlsRoute(object) => serde_json::to_value(object),
        Object::TcpRoute(object) => serde_json::to_value(object),
        Object::UdpRoute(object) => serde_json::to_value(object),
        Object::ReferenceGrant(object) => serde_json::to_value(object),
        Object::BackendTlsPolicy(object) => serde_json::to_value(object),
        Object::Backend(object) => serde_json::to_value(object),
        other => panic!("no CRD has {}", other.kind()),
    };
    written.unwrap()
}

fn listed(diagnostics: &[&Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn kind_of(cause: &Cause) -> String {
    let words = cause.message.replace(&cause.path, "");
    format!("{} {words}", cause.kind).chars().take(90).collect()
}

fn unknown_fields(notes: &[&Diagnostic], verdict: &Verdict) -> Option<String> {
    let warnings = notes.iter().filter(|note| note.severity() == Severity::Warning);
    let mut ours: Vec<String> = warnings.map(|note| canonical(&note.path.to_string())).collect();
    // What a value of the wrong type holds is unknown to the referee; to us only the value is wrong.
    let wrong_types = verdict.causes.iter().filter(|cause| cause.kind == "FieldValueTypeInvalid");
    let wrong_types: Vec<&str> = wrong_types.map(|cause| cause.path.as_str()).collect();
    let said = |path: &&String| !wrong_types.iter().any(|wrong| is_within(path, wrong));
    let mut theirs: Vec<String> =
        verdict.unknown_fields.iter().filter(said).map(|path| canonical(path)).collect();
    ours.sort();
    theirs.sort();
    (ours != theirs).then(|| format!("unknown fields | {ours:?} but {theirs:?}"))
}

/// Whether a path is another or lies below it, however keys of maps are written.
fn is_within(path: &str, other: &str) -> bool {
    let (path, other) = (canonical(path), canonical(other));
    path.strip_prefix(&other).is_some_and(|rest| rest.is_empty() || other.is_empty() || rest.starts_with('.'))
}

fn canonical(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

/// A value without what says nothing: nulls, and empty lists and objects. What we parse is written
/// in one form: durations, times and the preferred version.
fn plain(value: &Value) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    match value {
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(fields) => {
            let same = |name: &str| !["apiVersion", "lastTransitionTime"].contains(&name);
            let fields = fields.iter().filter(|(name, _)| same(name));
            let fields = fields.map(|(name, value)| (name.clone(), in_one_form(name, plain(value))));
            Value::Object(fields.filter(|(_, value)| says(value)).collect())
        }
        other => other.clone(),
    }
}

fn in_one_form(name: &str, value: Value) -> Value {
    let is_duration = ["request", "backendRequest", "backoff", "absoluteTimeout"].contains(&name);
    match value.as_str().filter(|_| is_duration).and_then(|text| text.parse::<Duration>().ok()) {
        Some(duration) => Value::from(duration.to_string()),
        None => value,
    }
}
