//! What an API server asks of the metadata of all objects.

mod owners;

use serde_json::{Map, Value};

use super::{
    Findings,
    rules::{CLUSTER_WIDE, METADATA, REQUIRED, WRONG_TYPE},
};
use crate::{
    diagnostic::Diagnostic,
    field_path::{FieldPath, Step},
    kind::Kind,
    patterns::{DNS_LABEL, DNS_SUBDOMAIN, LABEL_KEY, LABEL_VALUE},
    schema::{Described, type_of},
};

/// All annotations of an object together, in bytes of keys and values.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// Takes nulls in labels and annotations for empty texts, as the API server does, sets the
/// namespace `default` where one is needed, and removes it where there can be none.
pub(super) fn normalise(kind: Kind, fields: &mut Map<String, Value>, findings: &mut Findings) {
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let Some(metadata) = metadata.as_object_mut() else { return };
    for field in ["labels", "annotations"] {
        let map = metadata.get_mut(field).and_then(Value::as_object_mut);
        for value in map.into_iter().flat_map(Map::values_mut).filter(|value| value.is_null()) {
            *value = Value::from("");
        }
    }
    let given = metadata.get("namespace");
    let is_absent = given.is_none_or(|value| value.is_null() || value.as_str() == Some(""));
    if kind.is_namespaced() && is_absent {
        metadata.insert("namespace".to_owned(), Value::from("default"));
    } else if !kind.is_namespaced() && metadata.remove("namespace").is_some() && !is_absent {
        let path = FieldPath::of("metadata").field("namespace");
        let message = format!("{kind} has no namespaces");
        findings.push(Diagnostic::new(&CLUSTER_WIDE, path, message));
    }
}

/// Examines the metadata of an object of a kind.
pub(super) fn examine(kind: Kind, object: &Value, findings: &mut Findings) {
    let Some(value) = object.get("metadata") else { return };
    findings.within(Step::Field("metadata".into()), |findings| {
        let Some(metadata) = value.as_object() else {
            let message = format!("must be an object, not {}", type_of(value));
            return findings.report(&WRONG_TYPE, message);
        };
        if let Err(error) = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta::read(value.clone()) {
            let path = FieldPath::of("metadata");
            let path = error.path.steps().iter().cloned().fold(path, |path, step| path.then(step));
            return findings.push(Diagnostic::new(&WRONG_TYPE, path, error.message));
        }
        examine_name(kind, metadata, findings);
        if let Some(namespace) = text(metadata, "namespace") {
            examine_dns("namespace", namespace, NameForm::Label, findings);
        }
        examine_keys(metadata, "labels", findings);
        examine_keys(metadata, "annotations", findings);
        examine_label_values(metadata, findings);
        examine_annotations_size(metadata, findings);
        owners::examine(metadata, findings);
    });
}

/// Forms that names of objects have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameForm {
    /// Up to 63 letters, digits and dashes.
    Label,
    /// Up to 253 characters: labels separated by dots.
    Subdomain,
    /// Anything that fits into a path.
    Path,
}

const fn form_of_names(kind: Kind) -> NameForm {
    match kind {
        Kind::Service | Kind::Namespace => NameForm::Label,
        Kind::ClusterTrustBundle => NameForm::Path,
        _ => NameForm::Subdomain,
    }
}

fn text<'a>(metadata: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    metadata.get(name).and_then(Value::as_str)
}

fn examine_name(kind: Kind, metadata: &Map<String, Value>, findings: &mut Findings) {
    match text(metadata, "name") {
        Some(name) if !name.is_empty() => {
            examine_dns("name", name, form_of_names(kind), findings);
        }
        _ => findings.within(Step::Field("name".into()), |findings| {
            findings.report(&REQUIRED, "name is required");
        }),
    }
}

fn examine_dns(field: &'static str, name: &str, form: NameForm, findings: &mut Findings) {
    let (is_good, message) = match form {
        NameForm::Label => (
            name.len() <= 63 && DNS_LABEL.matches(name),
            "must be at most 63 lower case letters, digits and -, with a letter or digit at both ends",
        ),
        NameForm::Subdomain => (
            name.len() <= 253 && DNS_SUBDOMAIN.matches(name),
            "must be at most 253 lower case letters, digits, - and ., with a letter or digit at both \
             ends and around each dot",
        ),
        NameForm::Path => (
            !matches!(name, "." | "..") && !name.contains(['/', '%']),
            "must not be . or .., and not contain / or %",
        ),
    };
    if !is_good {
        findings.within(Step::Field(field.into()), |findings| {
            findings.report(&METADATA, format!("{name:?} {message}"));
        });
    }
}

/// Keys of labels and annotations: a name of up to 63 characters, perhaps after a DNS name and a
/// slash. Annotations are compared in lower case.
fn examine_keys(metadata: &Map<String, Value>, field: &'static str, findings: &mut Findings) {
    let map = metadata.get(field).and_then(Value::as_object);
    for key in map.into_iter().flat_map(Map::keys) {
        let folded = if field == "annotations" { key.to_lowercase() } else { key.clone() };
        if !is_qualified_name(&folded) {
            findings.within(Step::Field(field.into()), |findings| {
                let message = format!(
                    "key {key:?} must be a name of at most 63 characters, perhaps after a DNS name and /"
                );
                findings.report(&METADATA, message);
            });
        }
    }
}

/// A name of up to 63 characters, perhaps after a DNS name of up to 253 and a slash.
fn is_qualified_name(text: &str) -> bool {
    LABEL_KEY.matches(text) && text.split_once('/').is_none_or(|(prefix, _)| prefix.len() <= 253)
}

fn examine_label_values(metadata: &Map<String, Value>, findings: &mut Findings) {
    let labels = metadata.get("labels").and_then(Value::as_object);
    for value in labels.into_iter().flat_map(Map::values).filter_map(Value::as_str) {
        if value.len() > 63 || !LABEL_VALUE.matches(value) {
            findings.within(Step::Field("labels".into()), |findings| {
                let message = format!(
                    "value {value:?} must be at most 63 letters, digits, -, _ and ., with a letter or \
                     digit at both ends"
                );
                findings.report(&METADATA, message);
            });
        }
    }
}

fn examine_annotations_size(metadata: &Map<String, Value>, findings: &mut Findings) {
    let annotations = metadata.get("annotations").and_then(Value::as_object);
    let size: usize = annotations
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATIONS_BYTES {
        findings.within(Step::Field("annotations".into()), |findings| {
            let message = format!("must have at most {MAX_ANNOTATIONS_BYTES} bytes together, not {size}");
            findings.report(&METADATA, message);
        });
    }
}
