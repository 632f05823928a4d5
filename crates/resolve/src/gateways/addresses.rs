//! The addresses of a Gateway: what it asks for, and what became of it.

use std::net::IpAddr;

use portcullis_api::gateway::{AddressType, CLUSTER_ROUTABILITY, GatewayAddress};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{BindAddress, Transport};
use portcullis_store::{BindFailure, BindOutcome, PublishedAddress};

use crate::Source;
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
    /// Some entry asks for a routability, so that the status tells it of each address.
    pub(crate) routable: bool,
    /// Whether an entry can be satisfied is not known yet.
    pub(crate) undecided: bool,
    /// Entries of a type, or with a value, that cannot be had: they refuse the Gateway.
    pub(crate) unsupported: Vec<Finding>,
    /// Entries whose routability is not met: they are left out.
    pub(crate) unassigned: Vec<Finding>,
}

/// Where clients reach a Gateway, and which of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) at: Place,
    /// As the status says it.
    pub(crate) routability: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where it is bound, unless this machine lacks the address.
    Here(IpAddr),
    /// At something before this machine that passes traffic on.
    Before(PublishedAddress),
}

/// Who claims routability satisfies this one of the conformance suite's, and no other of its prefix (GEP-5093).
const SENTINEL: &str = "testing.x-k8s.io/sentinel";

/// The routability of an entry as far as it can be had. An empty one leaves it open.
fn routability(address: &GatewayAddress) -> Option<&'static str> {
    match address.routability.as_deref().unwrap_or_default() {
        "" => Some(""),
        CLUSTER_ROUTABILITY => Some(CLUSTER_ROUTABILITY),
        SENTINEL => Some(SENTINEL),
        _ => None,
    }
}

impl Query for Addresses {
    type Value = AddressPlan;

    fn compute(&self, view: &View<'_>) -> AddressPlan {
        let Some(gateway) = view.gateway(&self.gateway) else { return AddressPlan::default() };
        let supply = Supply {
            defaults: view.default_addresses(&self.gateway),
            published: view.published(),
            taken: view.taken(&self.gateway),
            in_cluster: view.in_cluster(&self.gateway),
            named: gateway.spec.addresses.iter().filter_map(GatewayAddress::ip).collect(),
            has_cluster: view.engine().source != Source::Files,
        };
        let routable = gateway.spec.addresses.iter().any(|address| address.routability.is_some());
        let mut plan = AddressPlan { routable, ..AddressPlan::default() };
        for (index, address) in gateway.spec.addresses.iter().enumerate() {
            plan.add(&supply, address, &FieldPath::of("spec").field("addresses").index(index));
        }
        if gateway.spec.addresses.is_empty() {
            plan.add_defaults(&supply, "");
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
    /// The addresses of its own Services; none while they are not known.
    in_cluster: Option<&'a [IpAddr]>,
    /// What the entries name by value.
    named: Vec<IpAddr>,
    /// Whether there are Services at all.
    has_cluster: bool,
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
        let routability = match routability(address) {
            Some(CLUSTER_ROUTABILITY) => return self.add_in_cluster(supply, address, path),
            Some(routability) => routability,
            None => {
                let asked = address.routability.as_deref().unwrap_or_default();
                return self
                    .leave_out(path, format!("{path} asks for routability {asked}, which cannot be had"));
            }
        };
        if !published.is_empty() {
            self.bind.extend(&supply.defaults);
            self.reached
                .extend(published.into_iter().map(|at| Reached { at: Place::Before(at), routability }));
            return;
        }
        match address.value.as_deref() {
            None | Some("") => self.add_defaults(supply, routability),
            Some(value) => match value.parse() {
                Ok(address) if supply.taken.contains(&address) => self.taken.push(address),
                // What is left open is told as it is.
                Ok(address) if supply.in_cluster.unwrap_or_default().contains(&address) => {
                    self.bind.extend(&supply.defaults);
                    self.reached.push(Reached { at: Place::Here(address), routability: CLUSTER_ROUTABILITY });
                }
                Ok(address) => {
                    self.bind.push(address);
                    self.wanted.push(address);
                    self.reached.push(Reached { at: Place::Here(address), routability });
                }
                Err(_) => self.unsupported.push(refuse(format!("{value:?} is no IP address"))),
            },
        }
    }

    /// An address of the cluster's ServiceCIDR: that of a Service of the Gateway's own, which leads to where it is
    /// bound.
    fn add_in_cluster(&mut self, supply: &Supply<'_>, address: &GatewayAddress, path: &FieldPath) {
        let Some(own) = supply.in_cluster else {
            self.undecided |= supply.has_cluster;
            if !supply.has_cluster {
                self.leave_out(path, format!("{path} asks for an address of a cluster, and there is none"));
            }
            return;
        };
        let found = match address.is_open() {
            true => own.iter().find(|ip| !supply.named.contains(ip)),
            false => own.iter().find(|ip| address.ip() == Some(**ip)),
        };
        match found {
            Some(ip) => {
                self.bind.extend(&supply.defaults);
                self.reached.push(Reached { at: Place::Here(*ip), routability: CLUSTER_ROUTABILITY });
            }
            None => {
                self.leave_out(
                    path,
                    format!("{path} asks for an address that no Service of the Gateway has"),
                );
            }
        }
    }

    fn leave_out(&mut self, path: &FieldPath, message: String) {
        self.unassigned.push(Finding::new(&ADDRESSES_PARTLY_ASSIGNED, path.clone(), message));
    }

    fn add_defaults(&mut self, supply: &Supply<'_>, routability: &'static str) {
        self.bind.extend(&supply.defaults);
        let places: Vec<Place> = match supply.published {
            Some(published) => published.iter().cloned().map(Place::Before).collect(),
            None => supply.defaults.iter().copied().map(Place::Here).collect(),
        };
        self.reached.extend(places.into_iter().map(|at| Reached { at, routability }));
    }
}

/// What the engine says about a port of a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Binding {
    pub(crate) gateway: ObjectKey,
    pub(crate) port: u16,
    pub(crate) transport: Transport,
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
            let address = BindAddress { ip: *ip, port: self.port, transport: self.transport };
            match view.bind_outcome(address) {
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
