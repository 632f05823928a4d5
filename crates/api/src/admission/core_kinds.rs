//! Kinds of Kubernetes itself: defaults, and the mistakes that users of files make.
//!
//! They have no CRD, and their own API server is stricter than this. What gets through is what
//! routing needs to be sure of.

mod endpoint_slices;
mod secrets;
mod services;

use k8s_openapi::api::{
    certificates::v1::ClusterTrustBundle,
    core::v1::{ConfigMap, Namespace, Service},
    discovery::v1::EndpointSlice,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    Findings, metadata, prune,
    rules::{CORE_OBJECT, REQUIRED, WRONG_TYPE},
};
use crate::{
    diagnostic::Diagnostic,
    field_path::{FieldPath, Step},
    kind::Kind,
    object::Object,
    schema::ReadError,
    secret::Secret,
};

/// The label that every Namespace has, by its own name.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn admit(kind: Kind, mut fields: Map<String, Value>, findings: &mut Findings) -> Option<Object> {
    fields.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
    if kind == Kind::Secret {
        secrets::normalise(&mut fields, findings);
    }
    let value = Value::Object(fields);
    metadata::examine(kind, &value, findings);
    if findings.refuse() {
        return None; // reading would say the same again, less well
    }
    let object = match kind {
        Kind::Service => {
            let mut service: Service = read(&value, findings)?;
            services::examine(&mut service, findings);
            service.into()
        }
        Kind::EndpointSlice => {
            let mut slice: EndpointSlice = read(&value, findings)?;
            endpoint_slices::examine(&mut slice, findings);
            slice.into()
        }
        Kind::Secret => {
            let secret: k8s_openapi::api::core::v1::Secret = read(&value, findings)?;
            let secret = Secret::from(secret);
            secrets::examine(&secret, findings);
            secret.into()
        }
        Kind::Namespace => {
            let mut namespace: Namespace = read(&value, findings)?;
            label_with_name(&mut namespace);
            namespace.into()
        }
        Kind::ConfigMap => read::<ConfigMap>(&value, findings)?.into(),
        Kind::ClusterTrustBundle => {
            let bundle: ClusterTrustBundle = read(&value, findings)?;
            if bundle.spec.trust_bundle.is_empty() {
                missing(FieldPath::of("spec").field("trustBundle"), findings);
            }
            bundle.into()
        }
        _ => return None, // the others have a schema
    };
    Some(object)
}

fn label_with_name(namespace: &mut Namespace) {
    if let Some(name) = namespace.metadata.name.clone() {
        let labels = namespace.metadata.labels.get_or_insert_default();
        labels.insert(NAMESPACE_NAME_LABEL.to_owned(), name);
    }
}

/// Reads a value, and warns of the fields that its type does not have.
fn read<T: DeserializeOwned + Serialize>(value: &Value, findings: &mut Findings) -> Option<T> {
    let object: T = match serde_path_to_error::deserialize(value) {
        Ok(object) => object,
        Err(error) => {
            let ReadError { path, message } = ReadError::from_serde(&error);
            findings.push(Diagnostic::new(&WRONG_TYPE, path, message));
            return None;
        }
    };
    if let Ok(known) = serde_json::to_value(&object) {
        warn_of_lost_fields(value, &known, findings);
    }
    Some(object)
}

/// Warns of fields that were written and that the type, written again, lacks.
fn warn_of_lost_fields(written: &Value, known: &Value, findings: &mut Findings) {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            for (name, value) in written.iter().filter(|(_, value)| !is_empty(value)) {
                match known.get(name) {
                    Some(known) => findings.within(Step::Field(name.as_str().into()), |findings| {
                        warn_of_lost_fields(value, known, findings);
                    }),
                    None => prune::report_unknown(name, known.keys().map(String::as_str), findings),
                }
            }
        }
        (Value::Array(written), Value::Array(known)) => {
            for (index, (written, known)) in written.iter().zip(known).enumerate() {
                findings.within(Step::Index(index), |findings| {
                    warn_of_lost_fields(written, known, findings);
                });
            }
        }
        _ => {}
    }
}

/// Whether a value may be left out when it is written again.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn missing(path: FieldPath, findings: &mut Findings) {
    let name = match path.steps().last() {
        Some(Step::Field(name)) => name.clone(),
        _ => "value".into(),
    };
    findings.push(Diagnostic::new(&REQUIRED, path, format!("{name} is required")));
}

fn refuse(path: FieldPath, message: impl Into<String>, findings: &mut Findings) {
    findings.push(Diagnostic::new(&CORE_OBJECT, path, message));
}
