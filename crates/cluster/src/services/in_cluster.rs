//! Which addresses of the ServiceCIDR Gateways have: those of their own Services.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::{Change, ChangeSet, Report, ReportKey, Store};

use super::difference::owners;
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
    let asking = asking(store, controllers);
    let mut known: BTreeMap<ObjectKey, Vec<IpAddr>> = BTreeMap::new();
    if asking.is_empty() {
        return BTreeMap::new();
    }
    for object in store.list(Kind::Service) {
        let Object::Service(service) = object else { continue };
        let gateway = owners(&service.metadata).find_map(|owner| asking.get(owner));
        let Some((gateway, spec)) = gateway.zip(service.spec.as_ref()) else { continue };
        let ips = spec.cluster_ips.iter().flatten().filter_map(|ip| ip.parse::<IpAddr>().ok());
        known.entry(gateway.clone()).or_default().extend(ips);
    }
    known.retain(|_, ips| !ips.is_empty());
    known.into_iter().map(|(gateway, ips)| (gateway, ips.into())).collect()
}

/// The Gateways of ours that ask for a routability, by uid.
fn asking<'a>(store: &'a Store, controllers: &[Arc<str>]) -> HashMap<&'a str, ObjectKey> {
    let gateways = store.list(Kind::Gateway).filter_map(|object| {
        let Object::Gateway(gateway) = object else { return None };
        let asks = gateway.spec.addresses.iter().any(|entry| entry.routability.is_some());
        let is_asking = asks && is_ours(store, gateway, controllers);
        Some((gateway.metadata.uid.as_deref()?, object.key())).filter(|_| is_asking)
    });
    gateways.collect()
}
