//! [`Received`]: an object as it came, judged by admission.

use crate::age::Age;
use crate::batch::Held;
use crate::kinds::is_held;
use crate::raw::Raw;
use portcullis_api::{Kind, Object, ObjectKey, admit};
use portcullis_store::{Refusal, each_target};
use serde_json::Value;
use std::sync::Arc;

/// What an object is to us.
#[derive(Debug)]
pub(super) enum Content {
    Admitted(Object),
    /// Stored under an older or looser CRD.
    Refused(Arc<Refusal>),
}

/// An object as it came.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) key: ObjectKey,
    pub(super) age: Age,
    pub(super) print: u64,
    /// What the API server holds, for kinds whose status is ours.
    pub(super) held: Held,
    pub(super) content: Content,
    /// What it refers to, what it needs by its nature included; sorted, each once.
    pub(super) targets: Arc<[ObjectKey]>,
}

impl Received {
    /// Judges an object as it would be judged in a file: with the same defaults and the same rules.
    pub(super) fn admit(key: ObjectKey, version: &'static str, mut raw: Raw) -> Self {
        let age = Age::new(raw.resource_version());
        let status = raw.status.take();
        let held = held(version, &raw, status);
        let print = raw.print;
        let content = content(&key, version, raw.written);
        let targets = match &content {
            Content::Admitted(object) if is_held(key.kind) => targets(&key, object),
            _ => Arc::default(),
        };
        Self { key, age, print, held, content, targets }
    }
}

/// What the API server holds.
pub(super) fn held(version: &'static str, raw: &Raw, status: Option<Value>) -> Held {
    Held {
        version,
        uid: raw.uid().into(),
        resource_version: raw.resource_version().into(),
        generation: raw.generation(),
        status: status.map(Arc::new),
    }
}

fn content(key: &ObjectKey, version: &str, mut written: Value) -> Content {
    if let Some(fields) = written.as_object_mut() {
        // Items of lists may lack them.
        fields.insert("apiVersion".to_owned(), key.kind.api_version_of(version).into());
        fields.insert("kind".to_owned(), key.kind.as_str().into());
    }
    let copy = if is_held(key.kind) { written.clone() } else { Value::Null };
    let admitted = admit(written);
    match admitted.object {
        Some(object) if object.key() == *key => Content::Admitted(object),
        _ => Content::Refused(Arc::new(Refusal { diagnostics: admitted.diagnostics, written: copy })),
    }
}

fn targets(key: &ObjectKey, object: &Object) -> Arc<[ObjectKey]> {
    let mut targets = Vec::new();
    each_target(object, &mut |target| targets.push(target));
    if let Object::Gateway(gateway) = object {
        targets.push(ObjectKey::new(Kind::GatewayClass, "", gateway.spec.gateway_class_name.as_str()));
    }
    if key.kind.is_route() || key.kind == Kind::ListenerSet {
        // Listeners choose what attaches to them by the labels of its namespace, too.
        targets.push(ObjectKey::new(Kind::Namespace, "", Arc::clone(&key.namespace)));
    }
    targets.sort();
    targets.dedup();
    targets.into()
}
