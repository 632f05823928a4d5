//! Admission: from JSON to an [`Object`], and what an API server with the upstream CRDs would
//! refuse.
//!
//! In the API server's order: unknown fields are pruned (`prune`, with a warning each), defaults
//! are set (`defaults`), then `metadata` and `structure` are examined, and the CRDs' CEL
//! rules last, and only where nothing is missing, too long, too many or of a wrong type. Kinds of
//! Kubernetes itself have no CRD; `core_kinds` examines what a user of files gets wrong.

mod core_kinds;
mod defaults;
mod identify;
mod metadata;
mod prune;
pub mod rules;
mod structure;

use serde_json::{Map, Value};

use crate::{
    cel::node::Node,
    diagnostic::Diagnostic,
    field_path::{FieldPath, Step},
    kind::Kind,
    names::ObjectKey,
    object::Object,
    schema::{Schema, Served, Shape, served},
};

/// What admission says about one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The object, defaults included; none if it is refused, or of a kind that is not read.
    pub object: Option<Object>,
    /// What it is called, where that can be told.
    pub key: Option<ObjectKey>,
    /// Findings, in the order of the object's fields as far as they have one.
    pub diagnostics: Vec<Diagnostic>,
}

/// Admits an object as its creation would be: its status is dropped, as an API server drops it.
/// An object without namespace gets `default`.
pub fn admit(value: Value) -> Admitted {
    admit_with(Status::Dropped, value)
}

/// Admits an object that a cluster holds, its status included. It may have been stored under an
/// older CRD, and so break the rules of this one.
pub fn admit_stored(value: Value) -> Admitted {
    admit_with(Status::Kept, value)
}

/// What becomes of an object's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Dropped,
    Kept,
}

fn admit_with(status: Status, value: Value) -> Admitted {
    let identity = match identify::identify(&value) {
        Ok(identity) => identity,
        Err(diagnostic) => {
            let document = value.as_object().map(|fields| Box::new(identify::document(fields)));
            let diagnostics = vec![Diagnostic { document, ..*diagnostic }];
            return Admitted { object: None, key: None, diagnostics };
        }
    };
    let kind = identity.kind;
    let mut fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(), // nothing else has a kind
    };
    if status == Status::Dropped {
        fields.remove("status");
    }
    let mut findings = Findings::default();
    metadata::normalise(kind, &mut fields, &mut findings);
    let key = key_of(kind, &fields);
    let document = key.is_none().then(|| Box::new(identify::document(&fields)));
    let object = match served(kind, identity.version) {
        Some(served) => admit_ours(kind, served, status, fields, &mut findings),
        None => core_kinds::admit(kind, fields, &mut findings),
    };
    let object = object.filter(|_| !findings.refuse());
    let mut diagnostics = findings.found;
    for diagnostic in &mut diagnostics {
        diagnostic.object.clone_from(&key);
        diagnostic.document.clone_from(&document);
    }
    Admitted { object, key, diagnostics }
}

fn admit_ours(
    kind: Kind,
    served: &Served,
    status: Status,
    fields: Map<String, Value>,
    findings: &mut Findings,
) -> Option<Object> {
    let schema = &served.schema;
    let mut value = Value::Object(fields);
    prune::prune(schema, &mut value, findings);
    prune::prune_nulls(schema, &mut value);
    defaults::set(schema, &mut value);
    if let (Status::Dropped, Some(fields)) = (status, value.as_object_mut()) {
        fields.remove("status"); // its default says that a controller is awaited
    }
    metadata::examine(kind, &value, findings);
    structure::examine(schema, &value, findings);
    if !findings.block_cel {
        examine_cel(schema, &value, findings);
    }
    if findings.refuse() {
        return None;
    }
    match (served.read)(value) {
        Ok(object) => Some(object),
        Err(error) => {
            findings.push(Diagnostic::new(&rules::UNREADABLE, error.path, error.message));
            None
        }
    }
}

fn key_of(kind: Kind, fields: &Map<String, Value>) -> Option<ObjectKey> {
    let metadata = fields.get("metadata")?;
    let text = |name| metadata.get(name).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(kind, text("namespace").unwrap_or_default(), name))
}

/// Runs the CEL rules of a value and of everything below it.
fn examine_cel(schema: &Schema, value: &Value, findings: &mut Findings) {
    for rule in &schema.rules {
        if !(rule.holds)(Node::new(value)) {
            findings.report(rule.rule, rule.message);
        }
    }
    each_child(schema, value, findings, examine_cel);
}

/// Calls `examine` for each part of a value that has a schema.
fn each_child(
    schema: &Schema,
    value: &Value,
    findings: &mut Findings,
    examine: fn(&Schema, &Value, &mut Findings),
) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => {
            for field in fields {
                if let Some(value) = values.get(field.name) {
                    findings.within(field.step.clone(), |findings| {
                        examine(&field.schema, value, findings);
                    });
                }
            }
        }
        (Shape::Map { values: schema, .. }, Value::Object(entries)) => {
            for (key, value) in entries {
                findings.within(Step::Key(key.as_str().into()), |findings| {
                    examine(schema, value, findings);
                });
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                findings.within(Step::Index(index), |findings| {
                    examine(&list.items, item, findings);
                });
            }
        }
        _ => {}
    }
}

/// Findings so far, and the place that is being looked at.
#[derive(Debug, Default)]
struct Findings {
    found: Vec<Diagnostic>,
    path: FieldPath,
    /// Whether something was found that keeps the CEL rules from running.
    block_cel: bool,
}

impl Findings {
    fn report(&mut self, rule: &'static crate::diagnostic::Rule, message: impl Into<String>) {
        self.push(Diagnostic::new(rule, self.path.clone(), message));
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.block_cel |= rules::BLOCKING.contains(&diagnostic.rule);
        self.found.push(diagnostic);
    }

    fn within<T>(&mut self, step: Step, look: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = look(self);
        self.path.pop();
        result
    }

    fn refuse(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }
}

#[cfg(test)]
mod tests;
