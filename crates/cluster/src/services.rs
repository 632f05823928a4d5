//! A Service for each Gateway of ours, so that clients in the cluster reach it by name.
//!
//! The Service has no selector; EndpointSlices beside it hold the Gateway's addresses. They live in the Gateway's
//! namespace, belong to it by owner reference, so that they go with it, and carry its `spec.infrastructure`'s labels
//! and annotations (GEP-1762, GEP-1867). What does not belong to the Gateway is never touched, whatever its name.
//!
//! Read in this order: [`ServiceWriter`], `wanted` (what there shall be), `names`, `difference` (what is to be done).

mod difference;
mod in_cluster;
mod names;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use portcullis_api::{Kind, ObjectKey};
use portcullis_store::{ChangeSet, ReportKey, Store};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tracing::warn;

use crate::requests::{self, Refusal};
use crate::writer::{FIELD_MANAGER, pace};
use difference::{Action, Sent};
pub use in_cluster::InCluster;

/// Requests in flight at once.
const FLIGHTS: usize = 8;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps the Services of Gateways as they shall be, while this controller leads.
pub struct ServiceWriter {
    client: Client,
    controllers: Vec<Arc<str>>,
    leading: watch::Receiver<bool>,
    /// What there shall be.
    wanted: HashSet<ObjectKey>,
    /// What was asked last about each object, and what was known of it then.
    sent: HashMap<ObjectKey, Sent>,
    tasks: JoinSet<()>,
    under_way: HashMap<ObjectKey, AbortHandle>,
    permits: Arc<Semaphore>,
}

impl ServiceWriter {
    /// Nothing is written yet. `controllers` are the `controllerName`s of the classes that are ours.
    #[must_use]
    pub fn new(client: Client, controllers: Vec<Arc<str>>, leading: watch::Receiver<bool>) -> ServiceWriter {
        let permits = Arc::new(Semaphore::new(FLIGHTS));
        ServiceWriter {
            client,
            controllers,
            leading,
            wanted: HashSet::new(),
            sent: HashMap::new(),
            tasks: JoinSet::new(),
            under_way: HashMap::new(),
            permits,
        }
    }

    /// Whether these changes can make a difference.
    #[must_use]
    pub fn is_touched_by(&self, changes: &ChangeSet) -> bool {
        let object = |key: &ObjectKey| match key.kind {
            Kind::Gateway | Kind::GatewayClass | Kind::ListenerSet => true,
            Kind::Service | Kind::EndpointSlice => self.wanted.contains(key) || self.sent.contains_key(key),
            _ => false,
        };
        let report = |key: &ReportKey| !matches!(key, ReportKey::Refused(_) | ReportKey::Published);
        changes.objects.iter().any(object) || changes.reports.iter().any(report)
    }

    /// Compares what is there with what shall be there, and starts on the current runtime what is to be done.
    ///
    /// Call it with a complete store, after each change that touches it and after each change of leadership.
    /// `accepted` says whether a ListenerSet is accepted: ports of others are not exposed.
    pub fn update(&mut self, store: &Store, accepted: &dyn Fn(&ObjectKey) -> bool) {
        while self.tasks.try_join_next().is_some() {}
        if !*self.leading.borrow_and_update() {
            self.tasks.abort_all();
            self.under_way.clear();
            self.sent.clear();
            return;
        }
        let (wanted, sent) = (&mut self.wanted, &mut self.sent);
        let actions = difference::actions(store, &self.controllers, accepted, wanted, sent);
        self.under_way.retain(|key, task| {
            let is_due = sent.contains_key(key);
            if !is_due {
                task.abort();
            }
            is_due
        });
        for action in actions {
            let key = action.key().clone();
            let flight =
                carry_out(self.client.clone(), Arc::clone(&self.permits), self.leading.clone(), action);
            let task = self.tasks.spawn(flight);
            if let Some(before) = self.under_way.insert(key, task) {
                before.abort();
            }
        }
    }
}

/// Tries until it succeeds, another one owns the object, or this controller leads no more.
async fn carry_out(
    client: Client,
    permits: Arc<Semaphore>,
    mut leading: watch::Receiver<bool>,
    action: Action,
) {
    let work = async {
        let mut delays = pace::delays();
        loop {
            let Ok(permit) = permits.acquire().await else { return };
            let result = tokio::time::timeout(PATIENCE, attempt(&client, &action)).await;
            drop(permit);
            match result.unwrap_or_else(|_| Err(Refusal::silence(PATIENCE))) {
                Ok(()) => return,
                // Somebody was faster; the watch tells who, and then it is judged again.
                Err(refusal @ (Refusal::Conflict | Refusal::Gone)) => {
                    warn!(object = %action.key(), %refusal, "a Service of a Gateway is not written");
                    return;
                }
                Err(refusal) => {
                    warn!(object = %action.key(), %refusal, "a Service of a Gateway is not written; it is tried again");
                }
            }
            tokio::time::sleep(delays.next().unwrap_or(PATIENCE)).await;
        }
    };
    tokio::select! {
        () = work => {}
        _ = leading.wait_for(|leading| !*leading) => {}
    }
}

async fn attempt(client: &Client, action: &Action) -> Result<(), Refusal> {
    let path = requests::path(action.key(), "v1");
    match action {
        Action::Create { body, .. } => {
            match requests::get::<Value>(client, &path).await {
                Err(Refusal::Gone) => {}
                Err(refusal) => return Err(refusal),
                Ok(_) => return Err(Refusal::Conflict),
            }
            // Not forced, so that fields of an object that appears in this very moment are not taken over.
            requests::apply(client, &format!("{path}?fieldManager={FIELD_MANAGER}"), body).await
        }
        Action::Update { body, .. } => {
            requests::apply(client, &format!("{path}?fieldManager={FIELD_MANAGER}&force=true"), body).await
        }
        Action::Delete { uid, .. } => match requests::delete(client, &path, uid).await {
            Err(Refusal::Gone) => Ok(()),
            other => other,
        },
    }
}
