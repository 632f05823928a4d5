//! Who was there first.

use std::cmp::Ordering;

use portcullis_api::ObjectKey;
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_model::Age;

/// An object's place among its peers: by creation time, then by `namespace/name`.
///
/// Source: `ListenerSet.spec.listeners` and `HTTPRouteRule.matches` field documentation. Objects without a
/// creation time are equally old among themselves and younger than any that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seniority {
    pub(crate) age: Age,
    pub(crate) key: ObjectKey,
}

impl Seniority {
    pub(crate) fn of(key: &ObjectKey, metadata: &ObjectMeta) -> Seniority {
        Seniority { age: age(metadata), key: key.clone() }
    }
}

impl Ord for Seniority {
    fn cmp(&self, other: &Seniority) -> Ordering {
        // The whole text counts: `a-b/x` comes before `a/x`, since `-` comes before `/`.
        let text = |key: &ObjectKey| format!("{}/{}", key.namespace, key.name);
        self.age.cmp(&other.age).then_with(|| text(&self.key).cmp(&text(&other.key)))
    }
}

impl PartialOrd for Seniority {
    fn partial_cmp(&self, other: &Seniority) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// When an object was created.
pub(crate) fn age(metadata: &ObjectMeta) -> Age {
    metadata.creation_timestamp.as_ref().map_or(Age::UNKNOWN, |time| Age::created_at(time.0.as_second()))
}
