//! Taking back what we wrote on an object that is no more our concern.

use portcullis_api::Kind;
use serde_json::{Map, Value, json};

use super::level::Level;
use super::{Author, Merge, list, merge, own_fields, text};
use crate::writer::FIELD_MANAGER;

/// Which fields of an object's status its `metadata.managedFields` call ours, and nobody else's.
///
/// Source: the API server's field management ("Server-Side Apply", FieldsV1). A PUT makes its `fieldManager` the
/// owner of what it changed, so another controller that takes an object over takes the fields over as well.
#[derive(Clone, Debug)]
struct Claims<'a> {
    ours: Vec<&'a Value>,
    others: Vec<&'a Value>,
}

impl<'a> Claims<'a> {
    /// Reads `metadata.managedFields`.
    fn of(managed_fields: &'a Value, manager: &str) -> Claims<'a> {
        let mut claims = Claims { ours: Vec::new(), others: Vec::new() };
        for entry in managed_fields.as_array().into_iter().flatten() {
            let Some(status) = entry.get("fieldsV1").and_then(|fields| fields.get("f:status")) else {
                continue;
            };
            match text(entry, "manager") == Some(manager) {
                true => claims.ours.push(status),
                false => claims.others.push(status),
            }
        }
        claims
    }

    /// Whether the field at this path below `status` is ours alone.
    fn covers(&self, path: &[&str]) -> bool {
        let has = |claims: &[&Value]| claims.iter().any(|fields| at(fields, path).is_some());
        has(&self.ours) && !has(&self.others)
    }

    /// The claims below an item of a list, such as a listener.
    fn below(&self, path: &[&str]) -> Claims<'a> {
        let narrow = |claims: &[&'a Value]| claims.iter().filter_map(|fields| at(fields, path)).collect();
        Claims { ours: narrow(&self.ours), others: narrow(&self.others) }
    }
}

fn at<'a>(fields: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(fields, |fields, step| fields.get(step))
}

/// How FieldsV1 names an item of a list by the field that is its key.
fn item(key: &str, value: &str) -> String {
    format!("k:{}", json!({key: value}))
}

/// The status to write so that nothing of ours stays. `managed_fields` are the object's `metadata.managedFields`,
/// and may be null for kinds whose statuses name us.
///
/// Entries of `parents` and `ancestors` name us. Elsewhere only what [`Claims`] call ours is taken back: conditions
/// return to what the CRD fills in, the rest is removed.
pub(crate) fn withdraw(
    kind: Kind,
    generation: i64,
    before: &Value,
    managed_fields: &Value,
    author: &Author<'_>,
) -> Merge {
    if !names_no_owner(kind) {
        return merge(kind, generation, before, &Value::Null, author);
    }
    let Some(mut after) = before.as_object().cloned() else { return Merge::Unchanged };
    let claims = &Claims::of(managed_fields, FIELD_MANAGER);
    for field in own_fields(kind) {
        if claims.covers(&[&format!("f:{field}")]) {
            after.remove(*field);
        }
    }
    let level = Level::Object(kind);
    replace(&mut after, "conditions", conditions(level, list(before, "conditions"), claims));
    let listeners = list(before, "listeners").iter().filter_map(|entry| listener(entry, claims));
    replace(&mut after, "listeners", listeners.collect());
    Merge::of(before, after)
}

/// Whether statuses of this kind leave open who wrote them.
pub(crate) fn names_no_owner(kind: Kind) -> bool {
    matches!(kind, Kind::GatewayClass | Kind::Gateway | Kind::ListenerSet | Kind::Backend)
}

fn replace(status: &mut Map<String, Value>, field: &str, list: Vec<Value>) {
    if let Some(field) = status.get_mut(field) {
        *field = list.into();
    }
}

fn conditions(level: Level, before: &[Value], claims: &Claims<'_>) -> Vec<Value> {
    let after = before.iter().filter_map(|condition| {
        let named = text(condition, "type").unwrap_or_default();
        let ours = level.types().contains(&named)
            && claims.covers(&["f:conditions", &item("type", named), "f:status"]);
        if !ours {
            return Some(condition.clone());
        }
        level.defaults().contains(&named).then(|| pending(named))
    });
    after.collect()
}

/// A listener's entry without our conditions; gone if that leaves nobody's.
fn listener(entry: &Value, claims: &Claims<'_>) -> Option<Value> {
    let key = item("name", text(entry, "name").unwrap_or_default());
    let claims = claims.below(&["f:listeners", &key]);
    let kept = conditions(Level::Listener, list(entry, "conditions"), &claims);
    if kept.is_empty() && claims.covers(&["f:name"]) {
        return None;
    }
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        replace(fields, "conditions", kept);
    }
    Some(entry)
}

/// A condition as the CRDs default it.
fn pending(condition_type: &str) -> Value {
    json!({
        "type": condition_type,
        "status": "Unknown",
        "reason": "Pending",
        "message": "Waiting for controller",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    })
}
