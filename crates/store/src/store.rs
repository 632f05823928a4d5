//! [`Store`].

use crate::index::Index;
use crate::{
    AncestorEntry, BindOutcome, BindPoint, Bucket, Change, ChangeSet, PublishedAddress, Refusal, Report,
    ReportKey,
};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use portcullis_api::{Kind, Object, ObjectKey};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Objects by key and bucket, and reports.
#[derive(Clone, Debug, Default)]
pub struct Store {
    objects: Map<ObjectKey, Object>,
    reports: Map<ReportKey, Report>,
    index: Index,
}

impl Store {
    /// A store that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies changes in order, all of them before anybody looks; gives the net difference.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> ChangeSet {
        let mut before = Before::default();
        for change in changes {
            match change {
                Change::Put(object) => self.replace(object.key(), Some(object), &mut before),
                Change::Remove(key) => self.replace(key, None, &mut before),
                Change::Report(report) => self.replace_report(report.key(), Some(report), &mut before),
                Change::Retract(key) => self.replace_report(key, None, &mut before),
            }
        }
        self.difference(before)
    }

    /// The object of this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key)
    }

    /// The objects in a bucket, by namespace, then name.
    pub fn bucket<'a>(&'a self, bucket: &Bucket) -> impl Iterator<Item = &'a Object> + use<'a> {
        self.index.members(bucket).filter_map(|key| self.objects.get(key))
    }

    /// The keys in a bucket, by namespace, then name.
    pub fn keys<'a>(&'a self, bucket: &Bucket) -> impl Iterator<Item = &'a ObjectKey> + use<'a> {
        self.index.members(bucket)
    }

    /// How many objects a bucket has.
    pub fn count(&self, bucket: &Bucket) -> usize {
        self.index.len(bucket)
    }

    /// All objects of a kind, by namespace, then name.
    pub fn list(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.bucket(&Bucket::all(kind))
    }

    /// Every object, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// The latest report of this key.
    pub fn report(&self, key: &ReportKey) -> Option<&Report> {
        self.reports.get(key)
    }

    /// How binding went; `None` while nobody has tried.
    pub fn bind(&self, point: BindPoint) -> Option<&BindOutcome> {
        match self.report(&ReportKey::Bind(point)) {
            Some(Report::Bind(_, outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Where Gateways without addresses of their own are served; `None` while nobody has said.
    pub fn default_addresses(&self) -> Option<&[IpAddr]> {
        match self.report(&ReportKey::DefaultAddresses) {
            Some(Report::DefaultAddresses(addresses)) => Some(addresses),
            _ => None,
        }
    }

    /// The addresses that a Gateway was allotted.
    pub fn allotted(&self, gateway: &ObjectKey) -> Option<&[IpAddr]> {
        match self.report(&ReportKey::Allotted(gateway.clone())) {
            Some(Report::Allotted(_, addresses)) => Some(addresses),
            _ => None,
        }
    }

    /// The addresses that a Gateway's spec names and another one was allotted.
    pub fn taken(&self, gateway: &ObjectKey) -> &[IpAddr] {
        match self.report(&ReportKey::Taken(gateway.clone())) {
            Some(Report::Taken(_, addresses)) => addresses,
            _ => &[],
        }
    }

    /// The addresses of a Gateway's own Services in the cluster; `None` while they are not known.
    pub fn in_cluster(&self, gateway: &ObjectKey) -> Option<&[IpAddr]> {
        match self.report(&ReportKey::InCluster(gateway.clone())) {
            Some(Report::InCluster(_, addresses)) => Some(addresses),
            _ => None,
        }
    }

    /// Whether objects of a kind can be there at all, as far as anybody has said otherwise.
    pub fn is_served(&self, kind: Kind) -> bool {
        match self.report(&ReportKey::Unserved) {
            Some(Report::Unserved(kinds)) => !kinds.contains(&kind),
            _ => true,
        }
    }

    /// The bundle versions that a cluster's Gateway API CRDs tell; `None` where there are no CRDs to look at.
    pub fn bundle_versions(&self) -> Option<&BTreeMap<Kind, Option<Arc<str>>>> {
        match self.report(&ReportKey::BundleVersions) {
            Some(Report::BundleVersions(versions)) => Some(versions),
            _ => None,
        }
    }

    /// The entries of a policy's `status.ancestors`.
    pub fn ancestors(&self, policy: &ObjectKey) -> &[AncestorEntry] {
        match self.report(&ReportKey::Ancestors(policy.clone())) {
            Some(Report::Ancestors(_, entries)) => entries,
            _ => &[],
        }
    }

    /// Where Gateways on the default addresses are reached; `None`: where they are served.
    pub fn published(&self) -> Option<&[PublishedAddress]> {
        match self.report(&ReportKey::Published) {
            Some(Report::Published(addresses)) => Some(addresses),
            _ => None,
        }
    }

    /// Why an object of a cluster is not among the objects here; `None` where nothing was refused.
    pub fn refused(&self, object: &ObjectKey) -> Option<&Refusal> {
        match self.report(&ReportKey::Refused(object.clone())) {
            Some(Report::Refused(_, refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Every object that is refused, in no order.
    pub fn refusals(&self) -> impl Iterator<Item = &ObjectKey> {
        self.reports.keys().filter_map(|key| match key {
            ReportKey::Refused(object) => Some(object),
            _ => None,
        })
    }

    fn replace(&mut self, key: ObjectKey, new: Option<Object>, before: &mut Before) {
        let old = match new {
            Some(object) => self.objects.insert(key.clone(), object),
            None => self.objects.remove(&key),
        };
        before.objects.entry(key).or_insert(old);
    }

    fn replace_report(&mut self, key: ReportKey, new: Option<Report>, before: &mut Before) {
        let old = match new {
            Some(report) => self.reports.insert(key.clone(), report),
            None => self.reports.remove(&key),
        };
        if let Entry::Vacant(first) = before.reports.entry(key) {
            first.insert(old);
        }
    }

    fn difference(&mut self, before: Before) -> ChangeSet {
        let mut set = ChangeSet::default();
        let reports = before.reports.into_iter().filter(|(key, old)| self.reports.get(key) != old.as_ref());
        let reports: Vec<_> = reports.collect();
        for (_, old) in &reports {
            set.buckets.extend(self.index.leave_refused(old.as_ref()));
        }
        for (key, old) in before.objects {
            let new = self.objects.get(&key);
            let same = match (&old, new) {
                (Some(old), Some(new)) => same(old, new),
                (old, new) => old.is_none() && new.is_none(),
            };
            if !same {
                set.buckets.extend(self.index.replace(&key, old.as_ref(), new));
                set.objects.insert(key);
            }
        }
        for (key, _) in reports {
            set.buckets.extend(self.index.enter_refused(self.reports.get(&key)));
            set.reports.insert(key);
        }
        set
    }
}

/// What was there before the first change to it.
#[derive(Default)]
struct Before {
    objects: Map<ObjectKey, Option<Object>>,
    reports: Map<ReportKey, Option<Report>>,
}

/// Whether two versions of an object mean the same: `resourceVersion` and `managedFields` change with every
/// write, even one that changes nothing else.
fn same(old: &Object, new: &Object) -> bool {
    if old == new {
        return true;
    }
    let mut comparable = new.clone();
    let metadata = comparable.metadata_mut();
    metadata.resource_version.clone_from(&old.metadata().resource_version);
    metadata.managed_fields.clone_from(&old.metadata().managed_fields);
    comparable == *old
}
