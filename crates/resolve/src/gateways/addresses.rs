//! The addresses of a Gateway: what it asks for, and what became of it.

use std::net::IpAddr;

use portcullis_api::gateway::{AddressType, GatewayAddress};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::BindAddress;
use portcullis_store::{BindFailure, BindOutcome};

use crate::causes::{ADDRESS_UNSUPPORTED, ADDRESSES_PARTLY_ASSIGNED};
use crate::finding::Finding;
use crate::memo::Query;
use crate::view::View;

/// What a Gateway's `spec.addresses` come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Addresses {
    pub(crate) gateway: ObjectKey,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressPlan {
    /// What to bind, in order, each once.
    pub(crate) bind: Vec<IpAddr>,
    /// Those of them that entries name by value.
    pub(crate) wanted: Vec<IpAddr>,
    /// Entries of a type, or with a value, that cannot be had: they refuse the Gateway.
    pub(crate) unsupported: Vec<Finding>,
    /// Entries whose routability is not met: they are left out.
    pub(crate) unassigned: Vec<Finding>,
}

impl Query for Addresses {
    type Value = AddressPlan;

    fn compute(&self, view: &View<'_>) -> AddressPlan {
        let Some(gateway) = view.gateway(&self.gateway) else { return AddressPlan::default() };
        let defaults = view.default_addresses(&self.gateway);
        let mut plan = AddressPlan::default();
        for (index, address) in gateway.spec.addresses.iter().enumerate() {
            plan.add(&defaults, address, &FieldPath::of("spec").field("addresses").index(index));
        }
        if gateway.spec.addresses.is_empty() {
            plan.bind.extend(&defaults);
        }
        plan.bind = once_each(&plan.bind);
        plan.wanted = once_each(&plan.wanted);
        plan
    }
}

fn once_each(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut seen = Vec::with_capacity(addresses.len());
    for address in addresses {
        if !seen.contains(address) {
            seen.push(*address);
        }
    }
    seen
}

impl AddressPlan {
    /// Source: `GatewaySpec.addresses`, GEP-5093: each entry is judged alone.
    fn add(&mut self, defaults: &[IpAddr], address: &GatewayAddress, path: &FieldPath) {
        let refuse = |message: String| Finding::new(&ADDRESS_UNSUPPORTED, path.clone(), message);
        if address.address_type != AddressType::IpAddress {
            self.unsupported
                .push(refuse(format!("addresses of type {} cannot be had", address.address_type)));
            return;
        }
        if let Some(scope) = address.routability.as_deref().filter(|scope| !scope.is_empty()) {
            let message = format!("{path} asks for routability {scope}, which cannot be had");
            self.unassigned.push(Finding::new(&ADDRESSES_PARTLY_ASSIGNED, path.clone(), message));
            return;
        }
        match address.value.as_deref() {
            None | Some("") => self.bind.extend(defaults),
            Some(value) => match value.parse() {
                Ok(address) => {
                    self.bind.push(address);
                    self.wanted.push(address);
                }
                Err(_) => self.unsupported.push(refuse(format!("{value:?} is no IP address"))),
            },
        }
    }
}

/// What the engine says about a port of a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Binding {
    pub(crate) gateway: ObjectKey,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// On every address that this machine has.
    Yes,
    /// The engine has not reported on all of them.
    Pending,
    /// On one at least the port is in use or not permitted.
    Unavailable(String),
    /// The Gateway has no address, or this machine has none of those it names.
    NoAddress,
}

impl Query for Binding {
    type Value = Bound;

    fn compute(&self, view: &View<'_>) -> Bound {
        let plan = view.get(&Addresses { gateway: self.gateway.clone() });
        let (mut refusals, mut pending, mut bound) = (Vec::new(), false, false);
        for ip in &plan.bind {
            match view.bind_outcome(BindAddress { ip: *ip, port: self.port }) {
                None => pending = true,
                Some(BindOutcome::Bound) => bound = true,
                // No fault of the listener: the rest is served, and the Gateway says so.
                Some(BindOutcome::Failed { failure: BindFailure::NotLocal, .. }) => {}
                Some(BindOutcome::Failed { message, .. }) => refusals.push(message),
            }
        }
        match (refusals.is_empty(), pending, bound) {
            (false, _, _) => Bound::Unavailable(refusals.join("; ")),
            (true, true, _) => Bound::Pending,
            (true, false, true) => Bound::Yes,
            (true, false, false) => Bound::NoAddress,
        }
    }
}
