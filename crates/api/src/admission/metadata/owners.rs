//! Generation, finalizers and owners: what controllers write, and files rarely have.

use serde_json::{Map, Value};

use super::is_qualified_name;
use crate::{
    admission::{Findings, rules::METADATA},
    field_path::Step,
    schema::integer,
};

pub(super) fn examine(metadata: &Map<String, Value>, findings: &mut Findings) {
    if metadata.get("generation").and_then(integer).is_some_and(|generation| generation < 0) {
        report("generation", "must not be negative", findings);
    }
    for finalizer in list(metadata, "finalizers").filter_map(Value::as_str) {
        if !is_qualified_name(finalizer) {
            let message = format!(
                "{finalizer:?} must be a name of at most 63 characters, perhaps after a DNS name and /"
            );
            report("finalizers", &message, findings);
        }
    }
    let has = |finalizer: &str| list(metadata, "finalizers").any(|found| found == finalizer);
    if has("orphan") && has("foregroundDeletion") {
        report("finalizers", "orphan and foregroundDeletion cannot go together", findings);
    }
    findings.within(Step::Field("ownerReferences".into()), |findings| {
        for (index, owner) in list(metadata, "ownerReferences").enumerate() {
            findings.within(Step::Index(index), |findings| examine_owner(owner, findings));
        }
        let is_controller = |owner: &&Value| owner.get("controller") == Some(&Value::Bool(true));
        if list(metadata, "ownerReferences").filter(is_controller).count() > 1 {
            findings.report(&METADATA, "only one owner may be the controller");
        }
    });
}

fn list<'a>(metadata: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    metadata.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn examine_owner(owner: &Value, findings: &mut Findings) {
    let text = |name| owner.get(name).and_then(Value::as_str).unwrap_or_default();
    for name in ["apiVersion", "kind", "name", "uid"] {
        if text(name).is_empty() {
            report(name, "must not be empty", findings);
        }
    }
    if text("apiVersion") == "v1" && text("kind") == "Event" {
        findings.report(&METADATA, "an Event cannot be an owner");
    }
}

fn report(field: &'static str, message: &str, findings: &mut Findings) {
    findings.within(Step::Field(field.into()), |findings| findings.report(&METADATA, message));
}
