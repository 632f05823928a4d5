//! What the statuses in the cluster shall be.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_cluster::{Client, Seen, StatusWriter};
use portcullis_resolve::NATIVE_CONTROLLER;
use tokio::sync::watch;

use crate::control::Control;
use crate::statuses::status_json;

/// Tells the writer what it has to know.
pub(super) struct Statuses {
    writer: StatusWriter,
    /// Objects that were seen since it was last told what we want.
    seen: BTreeSet<ObjectKey>,
}

impl Statuses {
    pub(super) fn start(client: Client, leading: watch::Receiver<bool>) -> Self {
        let writer = StatusWriter::start(client, vec![NATIVE_CONTROLLER.into()], leading);
        Self { writer, seen: BTreeSet::new() }
    }

    /// What the API server holds.
    pub(super) fn see(&mut self, seen: Vec<Seen>) {
        self.seen.extend(seen.iter().map(|seen| seen.key.clone()));
        self.writer.seen(seen);
    }

    /// What we want, of objects that were seen or judged anew: one of whom nothing is said may carry what we said
    /// before.
    pub(super) fn want(&mut self, control: &Control, judged: BTreeSet<ObjectKey>) {
        let mut objects = std::mem::take(&mut self.seen);
        objects.extend(judged);
        let wanted = objects.into_iter().map(|object| {
            let status = control.status(&object).map(|status| Arc::new(status_json(status)));
            (object, status)
        });
        let wanted: Vec<_> = wanted.collect();
        if !wanted.is_empty() {
            self.writer.want(wanted);
        }
    }
}
