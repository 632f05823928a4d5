//! [`Watcher`]: a feed and the store that it fills.

use crate::fake::Fake;
use portcullis_api::{Kind, ObjectKey};
use portcullis_cluster::{Batch, Feed, Held, Problem};
use portcullis_store::{Change, ReportKey, Store};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longer than any pause; time is not real in these tests.
const PATIENCE: Duration = Duration::from_secs(300);

/// A feed, the store that it fills, and what it has said.
pub(crate) struct Watcher {
    feed: Feed,
    pub(crate) store: Store,
    pub(crate) held: BTreeMap<ObjectKey, Held>,
    pub(crate) problems: Vec<Problem>,
    /// The keys of all changes, in order, those that were removed with a minus.
    pub(crate) changes: Vec<String>,
}

impl Watcher {
    /// Begins, without waiting for anything.
    pub(crate) fn begin(fake: &Fake) -> Self {
        let feed = Feed::start(fake.client());
        let (store, held) = (Store::new(), BTreeMap::new());
        Self { feed, store, held, problems: Vec::new(), changes: Vec::new() }
    }

    /// Begins, and waits until everything is there.
    pub(crate) async fn synced(fake: &Fake) -> Self {
        let mut watcher = Self::begin(fake);
        while !watcher.next().await {}
        watcher.changes.clear();
        watcher
    }

    /// Takes the next batch; says whether everything is there.
    pub(crate) async fn next(&mut self) -> bool {
        let batch = tokio::time::timeout(PATIENCE, self.feed.next()).await.expect("a batch");
        self.take(batch)
    }

    /// Takes batches until the store is as wanted.
    pub(crate) async fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            self.next().await;
        }
    }

    /// Takes whatever comes in this time; it is not real.
    pub(crate) async fn for_a_while(&mut self, time: Duration) {
        while let Ok(batch) = tokio::time::timeout(time, self.feed.next()).await {
            self.take(batch);
        }
    }

    fn take(&mut self, batch: Batch) -> bool {
        for change in &batch.changes {
            self.changes.push(match change {
                Change::Put(object) => object.key().to_string(),
                Change::Remove(key) => format!("-{key}"),
                Change::Report(report) => format!("{:?}", report.key()),
                Change::Retract(key) => format!("-{key:?}"),
            });
        }
        self.store.apply(batch.changes);
        for seen in batch.seen {
            match seen.held {
                Some(held) => self.held.insert(seen.key, held),
                None => self.held.remove(&seen.key),
            };
        }
        self.problems.extend(batch.problems);
        batch.synced
    }

    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        self.store.get(key).is_some()
    }

    pub(crate) fn is_refused(&self, key: &ObjectKey) -> bool {
        self.store.report(&ReportKey::Refused(key.clone())).is_some()
    }
}

/// A key in the namespace `default`, or without one.
pub(crate) fn key(kind: Kind, name: &str) -> ObjectKey {
    ObjectKey::new(kind, "default", name)
}
