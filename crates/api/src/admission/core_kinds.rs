//! Kinds of Kubernetes itself: defaults, and the mistakes that users of files make.
//!
//! They have no CRD, and their own API server is stricter than this. What gets through is what
//! routing needs to be sure of.

mod endpoint_slices;
mod secrets;
mod services;
mod watched;

use k8s_openapi::api::{
    certificates::v1::ClusterTrustBundle,
    core::v1::{ConfigMap, Namespace, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Map, Value};

use super::{
    Findings, metadata,
    rules::{CORE_OBJECT, REQUIRED},
};
use crate::{
    diagnostic::Diagnostic,
    field_path::{FieldPath, Step},
    kind::Kind,
    object::Object,
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
            let mut service: Service = watched::read(&value, findings)?;
            services::examine(&mut service, findings);
            service.into()
        }
        Kind::EndpointSlice => {
            let mut slice: EndpointSlice = watched::read(&value, findings)?;
            endpoint_slices::examine(&mut slice, findings);
            slice.into()
        }
        Kind::Secret => {
            let secret: k8s_openapi::api::core::v1::Secret = watched::read(&value, findings)?;
            let secret = Secret::from(secret);
            secrets::examine(&secret, findings);
            secret.into()
        }
        Kind::Namespace => {
            let mut namespace: Namespace = watched::read(&value, findings)?;
            label_with_name(&mut namespace);
            namespace.into()
        }
        Kind::ConfigMap => watched::read::<ConfigMap>(&value, findings)?.into(),
        Kind::ClusterTrustBundle => {
            let bundle: ClusterTrustBundle = watched::read(&value, findings)?;
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

fn missing(path: FieldPath, findings: &mut Findings) {
    let name = match path.steps().last() {
        Some(Step::Field(name) | Step::Key(name)) => name.clone(),
        _ => "value".into(),
    };
    findings.push(Diagnostic::new(&REQUIRED, path, format!("{name} is required")));
}

fn refuse(path: FieldPath, message: impl Into<String>, findings: &mut Findings) {
    findings.push(Diagnostic::new(&CORE_OBJECT, path, message));
}
