//! References into another namespace, and the ReferenceGrants that permit them.

use std::sync::Arc;

use portcullis_api::reference_grant::ReferenceGrantSpec;
use portcullis_api::{Kind, ObjectKey};

use crate::memo::Query;
use crate::view::View;

/// Who refers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Referrer {
    pub(crate) kind: Kind,
    pub(crate) namespace: Arc<str>,
}

impl Referrer {
    pub(crate) fn of(key: &ObjectKey) -> Referrer {
        Referrer { kind: key.kind, namespace: Arc::clone(&key.namespace) }
    }
}

/// Whether objects of one kind and namespace may refer to an object. Within a namespace they always may.
///
/// Judged before the object is looked up, so that the answer never tells whether it exists.
pub(crate) fn permits(
    view: &View<'_>,
    from: &Referrer,
    group: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> bool {
    from.namespace.as_ref() == namespace
        || view
            .get(&Grants { namespace: namespace.into() })
            .iter()
            .any(|grant| admits(grant, from, group, kind, name))
}

/// Source: ReferenceGrantSpec field documentation: grants add up, every `from` may refer to every `to`, and a
/// `to` without name means all objects of its kind.
fn admits(grant: &ReferenceGrantSpec, from: &Referrer, group: &str, kind: &str, name: &str) -> bool {
    let from_fits = grant.from.iter().any(|entry| {
        entry.group.as_str() == from.kind.group()
            && entry.kind.as_str() == from.kind.as_str()
            && entry.namespace.as_str() == &*from.namespace
    });
    from_fits
        && grant.to.iter().any(|entry| {
            entry.group.as_str() == group
                && entry.kind.as_str() == kind
                && entry.name.as_ref().is_none_or(|permitted| permitted.as_str() == name)
        })
}

/// The grants of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Grants {
    namespace: Arc<str>,
}

impl Query for Grants {
    type Value = Vec<ReferenceGrantSpec>;

    fn compute(&self, view: &View<'_>) -> Vec<ReferenceGrantSpec> {
        let keys = view.in_namespace(Kind::ReferenceGrant, &self.namespace);
        keys.iter().filter_map(|key| view.reference_grant(key)).map(|grant| grant.spec.clone()).collect()
    }
}
