//! The buckets and who is in them.

use crate::bucket::{Bucket, By};
use crate::{Report, references};
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

    /// Puts an object that is refused into the buckets where it is missed least of all; gives them.
    pub(crate) fn enter_refused(&mut self, report: Option<&Report>) -> Vec<Bucket> {
        let buckets = refused(report);
        for (key, bucket) in &buckets {
            self.members.entry(bucket.clone()).or_default().insert(key.clone());
        }
        buckets.into_iter().map(|(_, bucket)| bucket).collect()
    }

    /// Takes it out again; gives the buckets.
    pub(crate) fn leave_refused(&mut self, report: Option<&Report>) -> Vec<Bucket> {
        let buckets = refused(report);
        for (key, bucket) in &buckets {
            self.leave(bucket, key);
        }
        buckets.into_iter().map(|(_, bucket)| bucket).collect()
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

/// The buckets of an object that is refused: what guards others is found from them, that they are not left unguarded.
fn refused(report: Option<&Report>) -> Vec<(ObjectKey, Bucket)> {
    let Some(Report::Refused(key, refusal)) = report else { return Vec::new() };
    let targets = refusal.targets(key).into_iter();
    targets.map(|(target, _)| (key.clone(), Bucket::attached(key.kind, target))).collect()
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
