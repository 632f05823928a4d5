//! Secrets. No finding repeats what a Secret holds.

use k8s_openapi::ByteString;
use serde_json::{Map, Value};

use super::{Findings, missing, refuse};
use crate::{
    admission::rules::WRONG_TYPE, diagnostic::Diagnostic, field_path::FieldPath, schema::type_of,
    secret::Secret,
};

/// Examines `data` and `stringData` before they are read, as reading would repeat what it does not
/// understand. Line breaks in `data` are removed: the API server ignores them, too.
pub(super) fn normalise(fields: &mut Map<String, Value>, findings: &mut Findings) {
    for field in ["data", "stringData"] {
        let path = FieldPath::of(field);
        match fields.get_mut(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => {
                for (key, value) in entries {
                    examine_entry(field == "data", value, path.key(key), findings);
                }
            }
            Some(other) => {
                let message = format!("must be an object, not {}", type_of(other));
                findings.push(Diagnostic::new(&WRONG_TYPE, path, message));
            }
        }
    }
}

fn examine_entry(is_base64: bool, value: &mut Value, path: FieldPath, findings: &mut Findings) {
    match value {
        Value::Null => {}
        Value::String(text) if is_base64 => {
            text.retain(|c| c != '\n' && c != '\r');
            if serde_json::from_value::<ByteString>(Value::from(text.as_str())).is_err() {
                let diagnostic = Diagnostic::new(&WRONG_TYPE, path, "must be base64");
                findings.push(diagnostic.with_hint("plain text goes into stringData"));
            }
        }
        Value::String(_) => {}
        other => {
            let message = format!("must be a string, not {}", type_of(other));
            findings.push(Diagnostic::new(&WRONG_TYPE, path, message).with_hint("write it in quotes"));
        }
    }
}

/// A Secret of type kubernetes.io/tls has a certificate and a key, though perhaps empty ones.
pub(super) fn examine(secret: &Secret, findings: &mut Findings) {
    for key in secret.data.keys() {
        let is_valid = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_valid || key.is_empty() || key.len() > 253 || matches!(&**key, "." | "..") {
            let message = "keys must be at most 253 letters, digits, -, _ and .";
            refuse(FieldPath::of("data").key(key), message, findings);
        }
    }
    if &*secret.secret_type == "kubernetes.io/tls" {
        for key in ["tls.crt", "tls.key"] {
            if secret.get(key).is_none() {
                missing(FieldPath::of("data").key(key), findings);
            }
        }
    }
}
