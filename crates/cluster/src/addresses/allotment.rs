//! [`Allotment`]: which Gateway has which addresses of the pool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::gateway::{AddressType, Gateway, GatewayAddress};
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::{Change, ChangeSet, Report, ReportKey, Store};

use super::pool::{Family, Pool, take};
use crate::{Held, Seen};

/// Gives each Gateway of ours that asks for an address one of its own, and keeps it.
///
/// What a Gateway has it keeps while it lives; after a restart its status says what it had. Then the lowest free
/// address is next, but never one that some Gateway's spec names. The leader allots; the others follow the statuses
/// that it writes.
#[derive(Debug)]
pub struct Allotment {
    pool: Pool,
    controllers: Vec<Arc<str>>,
    /// Addresses in the statuses of Gateways.
    shown: BTreeMap<ObjectKey, Vec<IpAddr>>,
    /// What is allotted, as reported.
    held: BTreeMap<ObjectKey, Arc<[IpAddr]>>,
    /// What specs name that others were allotted, as reported.
    taken: BTreeMap<ObjectKey, Arc<[IpAddr]>>,
}

impl Allotment {
    /// Nothing is allotted yet. `controllers` are the `controllerName`s of the classes that are ours.
    #[must_use]
    pub fn new(pool: Pool, controllers: Vec<Arc<str>>) -> Allotment {
        Allotment { pool, controllers, shown: BTreeMap::new(), held: BTreeMap::new(), taken: BTreeMap::new() }
    }

    /// Takes note of the addresses in Gateways' statuses; says whether one of them has changed.
    pub fn see(&mut self, seen: &[Seen]) -> bool {
        let mut changed = false;
        for Seen { key, held } in seen.iter().filter(|seen| seen.key.kind == Kind::Gateway) {
            let addresses = shown(held.as_ref());
            changed |= match addresses.is_empty() {
                true => self.shown.remove(key).is_some(),
                false => self.shown.insert(key.clone(), addresses.clone()).as_ref() != Some(&addresses),
            };
        }
        changed
    }

    /// Whether these changes can make a difference to what is allotted.
    #[must_use]
    pub fn is_touched_by(changes: &ChangeSet) -> bool {
        changes.objects.iter().any(|key| matches!(key.kind, Kind::Gateway | Kind::GatewayClass))
    }

    /// Allots anew; gives the reports that differ from those before.
    ///
    /// Call it once all Gateways are known, or addresses are given away that belong to those still to come.
    pub fn update(&mut self, store: &Store, leads: bool) -> Vec<Change> {
        let wishes = Wishes::of(store, &self.controllers);
        let held = self.allot(&wishes, leads);
        let owners: BTreeMap<IpAddr, &ObjectKey> = held
            .iter()
            .flat_map(|(gateway, addresses)| addresses.iter().map(move |ip| (*ip, gateway)))
            .collect();
        let mut taken = BTreeMap::new();
        for (gateway, named) in &wishes.named {
            let others = named.iter().filter(|ip| owners.get(*ip).is_some_and(|owner| *owner != gateway));
            let others: Arc<[IpAddr]> = others.copied().collect();
            if !others.is_empty() {
                taken.insert(gateway.clone(), others);
            }
        }
        let mut changes = Vec::new();
        differences(&self.held, &held, Report::Allotted, ReportKey::Allotted, &mut changes);
        differences(&self.taken, &taken, Report::Taken, ReportKey::Taken, &mut changes);
        (self.held, self.taken) = (held, taken);
        changes
    }

    /// What each Gateway gets: first what those in need have already, by age, then what is free.
    fn allot(&self, wishes: &Wishes, leads: bool) -> BTreeMap<ObjectKey, Arc<[IpAddr]>> {
        let mut used = BTreeSet::new();
        let mut kept = Vec::new();
        for gateway in &wishes.in_need {
            let known = self.held.get(gateway).filter(|held| leads && !held.is_empty()).map(|held| &**held);
            let known = known.or_else(|| self.shown.get(gateway).map(Vec::as_slice)).unwrap_or_default();
            let named = wishes.named.get(gateway).map(Vec::as_slice).unwrap_or_default();
            let known = known.iter().copied().filter(|ip| self.pool.contains(*ip) && !named.contains(ip));
            let own = known.filter(|ip| used.insert(*ip));
            kept.push((gateway, one_of_each(&own.collect::<Vec<_>>())));
        }
        used.extend(wishes.named.values().flatten());
        let families: Vec<Family> = Family::ALL.into_iter().filter(|family| self.pool.has(*family)).collect();
        let mut free: Vec<_> = families.iter().map(|family| self.pool.hosts(*family)).collect();
        let mut held = BTreeMap::new();
        for (gateway, mut addresses) in kept {
            for (family, free) in families.iter().zip(&mut free).filter(|_| leads) {
                if !addresses.iter().any(|ip| Family::of(*ip) == *family) {
                    addresses.extend(take(free, &mut used));
                }
            }
            held.insert(gateway.clone(), addresses.into());
        }
        held
    }
}

/// The first address of each family.
fn one_of_each(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let first = |family| addresses.iter().copied().find(|ip| Family::of(*ip) == family);
    Family::ALL.into_iter().filter_map(first).collect()
}

/// The addresses that the status of a Gateway shows, names apart.
#[must_use]
pub fn shown(gateway: Option<&Held>) -> Vec<IpAddr> {
    let status = gateway.and_then(|held| held.status.as_deref());
    let addresses = status.and_then(|status| status.get("addresses")?.as_array()).into_iter().flatten();
    addresses.filter_map(|address| address.get("value")?.as_str()?.parse().ok()).collect()
}

/// What the Gateways of ours want.
#[derive(Debug, Default)]
struct Wishes {
    /// Those that need an address of the pool, oldest first.
    in_need: Vec<ObjectKey>,
    /// The addresses that specs name; those of other controllers' Gateways are not ours to give away either.
    named: BTreeMap<ObjectKey, Vec<IpAddr>>,
}

impl Wishes {
    fn of(store: &Store, controllers: &[Arc<str>]) -> Wishes {
        let mut wishes = Wishes::default();
        let mut in_need = Vec::new();
        for object in store.list(Kind::Gateway) {
            let Object::Gateway(gateway) = object else { continue };
            let key = object.key();
            if is_ours(store, gateway, controllers) && needs_address(gateway) {
                in_need.push((gateway.metadata.creation_timestamp.clone(), key.clone()));
            }
            // What the cluster itself gives is none of the pool's.
            let named = gateway.spec.addresses.iter().filter(|address| !address.is_in_cluster());
            let named: Vec<IpAddr> = named.filter_map(GatewayAddress::ip).collect();
            if !named.is_empty() {
                wishes.named.insert(key, named);
            }
        }
        in_need.sort();
        wishes.in_need = in_need.into_iter().map(|(_, key)| key).collect();
        wishes
    }
}

/// Whether a Gateway is of a class of these `controllerName`s.
pub(crate) fn is_ours(store: &Store, gateway: &Gateway, controllers: &[Arc<str>]) -> bool {
    let class = ObjectKey::new(Kind::GatewayClass, "", gateway.spec.gateway_class_name.as_str());
    match store.get(&class) {
        Some(Object::GatewayClass(class)) => {
            controllers.iter().any(|ours| **ours == *class.spec.controller_name.as_str())
        }
        _ => false,
    }
}

/// Source: `GatewaySpec.addresses`: without entries, or where an entry has no value, the implementation assigns.
fn needs_address(gateway: &Gateway) -> bool {
    let addresses = &gateway.spec.addresses;
    addresses.is_empty()
        || addresses.iter().any(|address| {
            // A Service has to lead somewhere, too.
            address.address_type == AddressType::IpAddress && (address.is_open() || address.is_in_cluster())
        })
}

/// The reports by which what is known of Gateways differs from before.
pub(crate) fn differences(
    before: &BTreeMap<ObjectKey, Arc<[IpAddr]>>,
    after: &BTreeMap<ObjectKey, Arc<[IpAddr]>>,
    report: fn(ObjectKey, Arc<[IpAddr]>) -> Report,
    key: fn(ObjectKey) -> ReportKey,
    changes: &mut Vec<Change>,
) {
    let gone = before.keys().filter(|gateway| !after.contains_key(*gateway));
    changes.extend(gone.map(|gateway| Change::Retract(key(gateway.clone()))));
    let differ = after.iter().filter(|(gateway, addresses)| before.get(*gateway) != Some(*addresses));
    changes.extend(
        differ.map(|(gateway, addresses)| Change::Report(report(gateway.clone(), Arc::clone(addresses)))),
    );
}

#[cfg(test)]
mod tests;
