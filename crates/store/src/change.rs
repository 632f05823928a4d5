//! What goes into a store, and what has then changed.

use crate::{Bucket, Report, ReportKey};
use hashbrown::HashSet;
use portcullis_api::{Object, ObjectKey};

/// One change to apply.
#[derive(Clone, Debug)]
pub enum Change {
    /// An object is there, or has changed.
    Put(Object),
    /// An object is gone.
    Remove(ObjectKey),
    /// An engine said something.
    Report(Report),
    /// What an engine said no longer holds, and nothing new is known.
    Retract(ReportKey),
}

/// What differs between the store before and after [`Store::apply`](crate::Store::apply).
///
/// Only the net difference counts: an object that is removed and put again unchanged is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// Objects that were added, changed or removed.
    pub objects: HashSet<ObjectKey, foldhash::fast::RandomState>,
    /// Buckets that an object entered or left.
    pub buckets: HashSet<Bucket, foldhash::fast::RandomState>,
    /// Reports that are new, changed or retracted.
    pub reports: HashSet<ReportKey, foldhash::fast::RandomState>,
}

impl ChangeSet {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.buckets.is_empty() && self.reports.is_empty()
    }

    /// Adds what a later change set names.
    pub fn merge(&mut self, later: Self) {
        self.objects.extend(later.objects);
        self.buckets.extend(later.buckets);
        self.reports.extend(later.reports);
    }
}
