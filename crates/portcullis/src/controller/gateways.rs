//! Where Gateways are reached: their addresses, and a Service for each.

use std::future::pending;

use portcullis_api::ObjectKey;
use portcullis_api::status::{ConditionStatus, verdict};
use portcullis_cluster::addresses::{Allotment, Pool, follow_published, node_addresses};
use portcullis_cluster::{Client, InCluster, Seen, ServiceWriter};
use portcullis_resolve::{NATIVE_CONTROLLER, Status};
use portcullis_store::{Change, ChangeSet, Report, Store};
use tokio::sync::watch;

use super::Controller;
use crate::control::Control;

/// Allots addresses, and keeps the Services.
pub(super) struct Gateways {
    allotment: Option<Allotment>,
    published: Option<watch::Receiver<Option<Report>>>,
    node: Vec<std::net::IpAddr>,
    in_cluster: InCluster,
    services: ServiceWriter,
    leading: watch::Receiver<bool>,
}

impl Gateways {
    pub(super) fn new(options: &Controller, client: Client, leading: watch::Receiver<bool>) -> Self {
        let ours = || vec![NATIVE_CONTROLLER.into()];
        let pool = &options.address_pool;
        let allotment = (!pool.is_empty()).then(|| Allotment::new(Pool::new(pool.clone()), ours()));
        let node = match (&allotment, options.node_address.is_empty()) {
            // Who gets nothing from the pool has no address.
            (Some(_), _) => Vec::new(),
            (None, false) => options.node_address.clone(),
            (None, true) => node_addresses(),
        };
        let published = options.publish_service.as_ref().map(|service| {
            follow_published(client.clone(), (&service.namespace, &service.name), node.clone())
        });
        let services = ServiceWriter::new(client, ours(), leading.clone());
        Self { allotment, published, node, in_cluster: InCluster::new(ours()), services, leading }
    }

    /// What is known before anything else.
    pub(super) fn beginning(&self) -> Vec<Change> {
        let node = Report::DefaultAddresses(self.node.as_slice().into());
        // Until the published Service is known, nobody can say where Gateways are reached.
        let published = self.published.is_some().then(|| Report::Published([].into()));
        std::iter::once(node).chain(published).map(Change::Report).collect()
    }

    /// What the published Service says next; never without one.
    pub(super) async fn published(&mut self) -> Report {
        while let Some(told) = &mut self.published {
            if told.changed().await.is_err() {
                self.published = None;
            } else if let Some(report) = told.borrow_and_update().clone() {
                return report;
            }
        }
        pending().await
    }

    /// Takes note of the addresses in statuses; says whether they differ from before.
    pub(super) fn see(&mut self, seen: &[Seen]) -> bool {
        self.allotment.as_mut().is_some_and(|allotment| allotment.see(seen))
    }

    /// What is allotted otherwise than before, by us or by the cluster.
    pub(super) fn allot(&mut self, store: &Store, changes: &ChangeSet, anew: bool) -> Vec<Change> {
        let leads = *self.leading.borrow();
        let mut allotted = match &mut self.allotment {
            Some(allotment) if anew || Allotment::is_touched_by(changes) => allotment.update(store, leads),
            _ => Vec::new(),
        };
        if anew || InCluster::is_touched_by(changes) {
            allotted.extend(self.in_cluster.update(store));
        }
        allotted
    }

    /// Brings the Services up to date.
    pub(super) fn expose(&mut self, control: &Control, changes: &ChangeSet, anew: bool) {
        if anew || self.services.is_touched_by(changes) {
            self.services.update(control.store(), &|set| is_accepted(control, set));
        }
    }
}

fn is_accepted(control: &Control, set: &ObjectKey) -> bool {
    let Some(Status::ListenerSet(status)) = control.status(set) else { return false };
    verdict(&status.conditions, "Accepted") == Some(&ConditionStatus::True)
}
