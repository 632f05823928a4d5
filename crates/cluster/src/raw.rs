//! [`Raw`]: an object as the API server sends it, whatever it holds.
//!
//! Watches read into this type, because nothing that is JSON fails to fit it: a malformed object is reported on
//! itself and never ends the watch of its kind.

use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta, PartialObjectMeta, Resource};
use portcullis_api::{Kind, ObjectKey};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Every client-side apply leaves a copy of the object in this annotation.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object as the API server sends it.
#[derive(Clone)]
pub(crate) struct Raw {
    /// What tells objects and versions apart; nothing else of the metadata.
    identity: Box<ObjectMeta>,
    /// The object without its status, and without what changes though the object does not.
    pub(crate) written: Value,
    /// The status, where there is one.
    pub(crate) status: Option<Value>,
    /// Equal for objects that differ in their status alone.
    pub(crate) print: u64,
}

impl Raw {
    fn new(mut written: Value) -> Self {
        let status = written.as_object_mut().and_then(|fields| fields.remove("status"));
        let identity = Box::new(identity(&written));
        if let Some(metadata) = written.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_APPLIED);
            }
        }
        Self { print: print(&written), identity, written, status }
    }

    /// The name; empty in an object that has none.
    pub(crate) fn name(&self) -> &str {
        self.identity.name.as_deref().unwrap_or_default()
    }

    /// The key as an object of this kind.
    pub(crate) fn key(&self, kind: Kind) -> ObjectKey {
        ObjectKey::new(kind, self.identity.namespace.as_deref().unwrap_or_default(), self.name())
    }

    pub(crate) fn uid(&self) -> &str {
        self.identity.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn resource_version(&self) -> &str {
        self.identity.resource_version.as_deref().unwrap_or_default()
    }

    pub(crate) fn generation(&self) -> i64 {
        self.identity.generation.unwrap_or(1)
    }
}

fn identity(object: &Value) -> ObjectMeta {
    let metadata = object.get("metadata");
    let field = |name| metadata.and_then(|metadata| metadata.get(name));
    let text = |name| field(name).and_then(Value::as_str).map(str::to_owned);
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        generation: field("generation").and_then(Value::as_i64),
        ..ObjectMeta::default()
    }
}

/// Keyed at random, so that nobody makes two objects whose prints are equal.
fn print(written: &Value) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(written)
}

impl fmt::Debug for Raw {
    /// The name alone, so that no Secret is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

/// Of an object that was asked for its metadata alone.
impl From<PartialObjectMeta<Self>> for Raw {
    fn from(partial: PartialObjectMeta<Self>) -> Self {
        let ObjectMeta { name, namespace, uid, resource_version, generation, .. } = partial.metadata;
        let identity =
            ObjectMeta { name, namespace, uid, resource_version, generation, ..ObjectMeta::default() };
        Self { identity: Box::new(identity), written: Value::Null, status: None, print: 0 }
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.identity
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(value: Value) -> Raw {
        serde_json::from_value(value).expect("any JSON fits")
    }

    #[test]
    fn any_json_fits() {
        for value in [json!(null), json!([1]), json!({"metadata": 3}), json!({"metadata": {"name": 7}})] {
            assert_eq!(raw(value).name(), "");
        }
    }

    #[test]
    fn the_print_sees_all_but_the_status_and_who_wrote_when() {
        let object = |version: &str, port: u16, status: &str| {
            raw(json!({
                "metadata": {"name": "a", "namespace": "n", "resourceVersion": version,
                    "managedFields": [{"time": version}], "annotations": {LAST_APPLIED: version, "k": "v"}},
                "spec": {"port": port},
                "status": {"phase": status},
            }))
        };
        assert_eq!(object("1", 80, "x").print, object("2", 80, "y").print);
        assert_ne!(object("1", 80, "x").print, object("2", 81, "x").print);
        assert_eq!(object("1", 80, "x").resource_version(), "1");
        assert_eq!(object("1", 80, "x").status, Some(json!({"phase": "x"})));
        assert_eq!(object("1", 80, "x").written["metadata"]["annotations"], json!({"k": "v"}));
    }
}
