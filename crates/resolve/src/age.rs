//! Who was there first.

use std::cmp::Ordering;

use portcullis_api::ObjectKey;
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_model::{Age, QualifiedName};

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
    fn name(&self) -> QualifiedName<'_> {
        QualifiedName::new(&self.key.namespace, &self.key.name)
    }

    pub(crate) fn of(key: &ObjectKey, metadata: &ObjectMeta) -> Seniority {
        Seniority { age: age(metadata), key: key.clone() }
    }
}

impl Ord for Seniority {
    fn cmp(&self, other: &Seniority) -> Ordering {
        self.age.cmp(&other.age).then_with(|| self.name().cmp(&other.name()))
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

#[cfg(test)]
mod tests {
    use portcullis_api::Kind;

    use super::*;

    /// `ListenerSet.spec.listeners`: older first, then by `{namespace}/{name}`.
    #[test]
    fn the_older_comes_first_and_then_the_name() {
        let of = |age, namespace: &str, name: &str| Seniority {
            age,
            key: ObjectKey::new(Kind::Gateway, namespace, name),
        };
        let ordered = [
            of(Age::created_at(1), "z", "z"),
            of(Age::created_at(2), "m-n", "a"),
            of(Age::created_at(2), "m", "b"),
            of(Age::created_at(2), "n", "a"),
            of(Age::UNKNOWN, "a", "a"),
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
        }
    }
}
