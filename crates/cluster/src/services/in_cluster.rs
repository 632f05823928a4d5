//! Which addresses of the ServiceCIDR Gateways have: those of their own Services.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::{Change, ChangeSet, Report, ReportKey, Store};

use super::difference::belongs_to;
use crate::addresses::{differences, is_ours};

/// Follows the addresses that the API server gives the Services of Gateways.
#[derive(Debug)]
pub struct InCluster {
    controllers: Vec<Arc<str>>,
    /// As reported.
    known: BTreeMap<ObjectKey, Arc<[IpAddr]>>,
}

impl InCluster {
    /// Nothing is known yet. `controllers` are the `controllerName`s of the classes that are ours.
    #[must_use]
    pub fn new(controllers: Vec<Arc<str>>) -> InCluster {
        InCluster { controllers, known: BTreeMap::new() }
    }

    /// Whether these changes can make a difference.
    #[must_use]
    pub fn is_touched_by(changes: &ChangeSet) -> bool {
        let kinds = [Kind::Gateway, Kind::GatewayClass, Kind::Service];
        changes.objects.iter().any(|key| kinds.contains(&key.kind))
    }

    /// The reports that differ from those before.
    pub fn update(&mut self, store: &Store) -> Vec<Change> {
        let known = addresses(store, &self.controllers);
        let mut changes = Vec::new();
        differences(&self.known, &known, Report::InCluster, ReportKey::InCluster, &mut changes);
        self.known = known;
        changes
    }
}

/// The addresses by Gateway, of those that ask for any: nobody else's status tells them.
fn addresses(store: &Store, controllers: &[Arc<str>]) -> BTreeMap<ObjectKey, Arc<[IpAddr]>> {
    let mut known = BTreeMap::new();
    for object in store.list(Kind::Gateway) {
        let Object::Gateway(gateway) = object else { continue };
        let asks = gateway.spec.addresses.iter().any(|entry| entry.routability.is_some());
        if !asks || !is_ours(store, gateway, controllers) {
            continue;
        }
        let services = store.list(Kind::Service).filter_map(|object| match object {
            Object::Service(service) if belongs_to(&service.metadata, gateway) => service.spec.as_ref(),
            _ => None,
        });
        let ips = services.flat_map(|spec| spec.cluster_ips.iter().flatten());
        let ips: Arc<[IpAddr]> = ips.filter_map(|ip| ip.parse().ok()).collect();
        if !ips.is_empty() {
            known.insert(object.key(), ips);
        }
    }
    known
}
