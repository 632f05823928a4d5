//! The addresses of a Gateway: what it asks for, and what became of it.

use std::net::IpAddr;

use portcullis_api::gateway::{AddressType, GatewayAddress};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::BindAddress;
use portcullis_store::{BindFailure, BindOutcome, PublishedAddress};

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
    /// What entries name by value and another Gateway was allotted: it is not bound.
    pub(crate) taken: Vec<IpAddr>,
    /// Where clients reach the Gateway, in order, each once.
    pub(crate) reached: Vec<Reached>,
    /// Entries of a type, or with a value, that cannot be had: they refuse the Gateway.
    pub(crate) unsupported: Vec<Finding>,
    /// Entries whose routability is not met: they are left out.
    pub(crate) unassigned: Vec<Finding>,
}

/// Where clients reach a Gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Where it is bound, unless this machine lacks the address.
    Directly(IpAddr),
    /// At something before this machine that passes traffic on.
    Through(PublishedAddress),
}

impl Query for Addresses {
    type Value = AddressPlan;

    fn compute(&self, view: &View<'_>) -> AddressPlan {
        let Some(gateway) = view.gateway(&self.gateway) else { return AddressPlan::default() };
        let supply = Supply {
            defaults: view.default_addresses(&self.gateway),
            published: view.published(),
            taken: view.taken(&self.gateway),
        };
        let mut plan = AddressPlan::default();
        for (index, address) in gateway.spec.addresses.iter().enumerate() {
            plan.add(&supply, address, &FieldPath::of("spec").field("addresses").index(index));
        }
        if gateway.spec.addresses.is_empty() {
            plan.add_defaults(&supply);
        }
        plan.bind = once_each(&plan.bind);
        plan.wanted = once_each(&plan.wanted);
        plan.reached = once_each(&plan.reached);
        plan
    }
}

/// From where addresses come.
struct Supply<'a> {
    /// What Gateways get that name none.
    defaults: Vec<IpAddr>,
    /// Where those are reached, unless directly.
    published: Option<&'a [PublishedAddress]>,
    /// What this Gateway cannot have, though its spec names it.
    taken: &'a [IpAddr],
}

impl Supply<'_> {
    /// Published addresses that an entry asks for: all of them if it names none.
    fn published(&self, address: &GatewayAddress) -> Vec<PublishedAddress> {
        let value = address.value.as_deref().unwrap_or_default();
        let fits = |published: &&PublishedAddress| match (published, &address.address_type) {
            (PublishedAddress::Ip(ip), AddressType::IpAddress) => {
                value.is_empty() || value.parse() == Ok(*ip)
            }
            (PublishedAddress::Hostname(_), AddressType::IpAddress) => value.is_empty(),
            (PublishedAddress::Hostname(name), AddressType::Hostname) => {
                value.is_empty() || name.eq_ignore_ascii_case(value)
            }
            _ => false,
        };
        self.published.unwrap_or_default().iter().filter(fits).cloned().collect()
    }
}

fn once_each<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut once = Vec::with_capacity(items.len());
    for item in items {
        if !once.contains(item) {
            once.push(item.clone());
        }
    }
    once
}

impl AddressPlan {
    /// Source: `GatewaySpec.addresses`, GEP-5093: each entry is judged alone.
    fn add(&mut self, supply: &Supply<'_>, address: &GatewayAddress, path: &FieldPath) {
        let refuse = |message: String| Finding::new(&ADDRESS_UNSUPPORTED, path.clone(), message);
        let published = supply.published(address);
        if address.address_type != AddressType::IpAddress && published.is_empty() {
            self.unsupported
                .push(refuse(format!("addresses of type {} cannot be had", address.address_type)));
            return;
        }
        if let Some(scope) = address.routability.as_deref().filter(|scope| !scope.is_empty()) {
            let message = format!("{path} asks for routability {scope}, which cannot be had");
            self.unassigned.push(Finding::new(&ADDRESSES_PARTLY_ASSIGNED, path.clone(), message));
            return;
        }
        if !published.is_empty() {
            self.bind.extend(&supply.defaults);
            self.reached.extend(published.into_iter().map(Reached::Through));
            return;
        }
        match address.value.as_deref() {
            None | Some("") => self.add_defaults(supply),
            Some(value) => match value.parse() {
                Ok(address) if supply.taken.contains(&address) => self.taken.push(address),
                Ok(address) => {
                    self.bind.push(address);
                    self.wanted.push(address);
                    self.reached.push(Reached::Directly(address));
                }
                Err(_) => self.unsupported.push(refuse(format!("{value:?} is no IP address"))),
            },
        }
    }

    fn add_defaults(&mut self, supply: &Supply<'_>) {
        self.bind.extend(&supply.defaults);
        match supply.published {
            Some(published) => self.reached.extend(published.iter().cloned().map(Reached::Through)),
            None => self.reached.extend(supply.defaults.iter().copied().map(Reached::Directly)),
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
