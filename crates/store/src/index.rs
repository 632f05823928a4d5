//! The buckets and who is in them.

use crate::bucket::{Bucket, By};
use crate::references;
use hashbrown::{HashMap, HashSet};
use portcullis_api::{Object, ObjectKey};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// No bucket here is empty.
    members: HashMap<Bucket, BTreeSet<ObjectKey>, foldhash::fast::RandomState>,
}

impl Index {
    /// The members of a bucket in the order of their keys.
    pub(crate) fn members<'a>(&'a self, bucket: &Bucket) -> impl Iterator<Item = &'a ObjectKey> + use<'a> {
        self.members.get(bucket).into_iter().flatten()
    }

    pub(crate) fn len(&self, bucket: &Bucket) -> usize {
        self.members.get(bucket).map_or(0, BTreeSet::len)
    }

    /// Moves an object to the buckets of its new version; gives those that it entered or left.
    pub(crate) fn replace(
        &mut self,
        key: &ObjectKey,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Vec<Bucket> {
        let before = old.map(|object| buckets(key, object)).unwrap_or_default();
        let after = new.map(|object| buckets(key, object)).unwrap_or_default();
        for bucket in before.difference(&after) {
            self.leave(bucket, key);
        }
        for bucket in after.difference(&before) {
            self.members.entry(bucket.clone()).or_default().insert(key.clone());
        }
        before.symmetric_difference(&after).cloned().collect()
    }

    fn leave(&mut self, bucket: &Bucket, key: &ObjectKey) {
        if let Some(members) = self.members.get_mut(bucket) {
            members.remove(key);
            if members.is_empty() {
                self.members.remove(bucket);
            }
        }
    }
}

/// Every bucket that an object belongs to.
fn buckets(key: &ObjectKey, object: &Object) -> HashSet<Bucket, foldhash::fast::RandomState> {
    let kind = key.kind;
    let mut buckets: HashSet<Bucket, _> = [Bucket::all(kind)].into_iter().collect();
    if kind.is_namespaced() {
        buckets.insert(Bucket { kind, by: By::Namespace(Arc::clone(&key.namespace)) });
    }
    if let Object::Gateway(gateway) = object {
        buckets.insert(Bucket::gateways_of(gateway.spec.gateway_class_name.as_str()));
    }
    references::parents(object, &key.namespace, &mut |parent| {
        buckets.insert(Bucket::attached(kind, parent));
    });
    references::others(object, &key.namespace, &mut |target| {
        buckets.insert(Bucket::referring(kind, target));
    });
    buckets
}
