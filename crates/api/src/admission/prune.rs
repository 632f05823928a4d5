//! Removing what a schema does not know.

use serde_json::{Map, Value};

use super::{Findings, rules::UNKNOWN_FIELD};
use crate::{
    diagnostic::Diagnostic,
    field_path::Step,
    schema::{Field, Schema, Shape},
    spelling::nearest,
};

/// The fields of `metadata`.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Removes unknown fields, with a warning each.
pub(super) fn prune(schema: &Schema, value: &mut Value, findings: &mut Findings) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => {
            let names: Vec<_> = fields.iter().map(|field| field.name).collect();
            remove_unknown(&names, values, findings);
            for field in fields {
                if let Some(value) = values.get_mut(field.name) {
                    findings.within(field.step.clone(), |findings| {
                        prune(&field.schema, value, findings);
                    });
                }
            }
        }
        (Shape::Metadata, Value::Object(values)) => remove_unknown(&METADATA, values, findings),
        (Shape::Map { values: schema, .. }, Value::Object(entries)) => {
            for (key, value) in entries {
                findings.within(Step::Key(key.as_str().into()), |findings| {
                    prune(schema, value, findings);
                });
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                findings.within(Step::Index(index), |findings| prune(&list.items, item, findings));
            }
        }
        _ => {}
    }
}

/// Removes the fields that are not among `names`, with a warning each.
pub(super) fn remove_unknown(
    names: &[&'static str],
    values: &mut Map<String, Value>,
    findings: &mut Findings,
) {
    let unknown: Vec<String> =
        values.keys().filter(|name| !names.contains(&name.as_str())).cloned().collect();
    for name in unknown {
        values.remove(&name);
        report_unknown(&name, names.iter().copied(), findings);
    }
}

/// Warns of one unknown field.
pub(super) fn report_unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>, findings: &mut Findings) {
    let path = findings.path.field(name);
    let diagnostic = Diagnostic::new(&UNKNOWN_FIELD, path, format!("unknown field {name}"));
    findings.push(match nearest(name, known) {
        Some(meant) => diagnostic.with_hint(format!("did you mean {meant}?")),
        None => diagnostic,
    });
}

/// Removes nulls, which stand for absent fields; those that have a default are left for it.
pub(super) fn prune_nulls(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Object(fields), Value::Object(values)) => {
            for Field { name, default, schema, .. } in fields {
                match values.get_mut(*name) {
                    Some(Value::Null) if default.is_none() => {
                        values.remove(*name);
                    }
                    Some(value) => prune_nulls(schema, value),
                    None => {}
                }
            }
        }
        (Shape::Map { values: schema, .. }, Value::Object(entries)) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(|value| prune_nulls(schema, value));
        }
        (Shape::List(list), Value::Array(items)) => {
            items.iter_mut().for_each(|item| prune_nulls(&list.items, item));
        }
        _ => {}
    }
}
