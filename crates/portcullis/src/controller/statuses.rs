//! What the statuses in the cluster shall be.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use portcullis_api::ObjectKey;
use portcullis_api::status::{Condition, ConditionStatus, verdict};
use portcullis_cluster::{Client, Seen, StatusWriter};
use portcullis_resolve::{NATIVE_CONTROLLER, Status};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::control::Control;
use crate::statuses::status_json;

/// How long a status that is about to change is kept back: the proxy says within milliseconds whether it serves, and
/// a controller that was started again has nothing to say that is not said already.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tells the writer what it has to know.
pub(super) struct Statuses {
    writer: StatusWriter,
    /// Objects that were seen since it was last told what we want.
    seen: BTreeSet<ObjectKey>,
    /// Objects of whom the proxy has not said whether they are served, and until when that is waited for.
    unsure: BTreeMap<ObjectKey, Instant>,
}

impl Statuses {
    pub(super) fn start(client: Client, leading: watch::Receiver<bool>) -> Self {
        let writer = StatusWriter::start(client, vec![NATIVE_CONTROLLER.into()], leading);
        Self { writer, seen: BTreeSet::new(), unsure: BTreeMap::new() }
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
        let now = Instant::now();
        let mut wanted = Vec::with_capacity(objects.len());
        for object in objects {
            let status = control.status(&object);
            if status.is_some_and(awaits_the_proxy) {
                let until = *self.unsure.entry(object.clone()).or_insert(now + PATIENCE);
                if now < until {
                    continue;
                }
            } else {
                self.unsure.remove(&object);
            }
            wanted.push((object, status.map(|status| Arc::new(status_json(status)))));
        }
        if !wanted.is_empty() {
            self.writer.want(wanted);
        }
    }

    /// Waits until the proxy has kept somebody waiting for too long: what is known of them is said.
    pub(super) async fn overdue(&self) -> BTreeSet<ObjectKey> {
        let now = Instant::now();
        let Some(first) = self.unsure.values().filter(|until| **until > now).min() else {
            return pending().await;
        };
        sleep_until(*first).await;
        self.unsure.iter().filter(|(_, until)| *until == first).map(|(object, _)| object.clone()).collect()
    }
}

/// Whether it is not known yet if something is served.
fn awaits_the_proxy(status: &Status) -> bool {
    let is_unsure =
        |conditions: &[Condition]| verdict(conditions, "Programmed") == Some(&ConditionStatus::Unknown);
    let listeners = match status {
        Status::Gateway(status) if is_unsure(&status.conditions) => return true,
        Status::ListenerSet(status) if is_unsure(&status.conditions) => return true,
        Status::Gateway(status) => &status.listeners,
        Status::ListenerSet(status) => &status.listeners,
        Status::GatewayClass(_) | Status::Route(_) | Status::Policy(_) => return false,
    };
    listeners.iter().any(|listener| is_unsure(&listener.conditions))
}
