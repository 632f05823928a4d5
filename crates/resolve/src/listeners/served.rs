//! What the accepted listeners come to in the model.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{BindAddress, HostPattern, Listener, ListenerId, ListenerProtocol, Port, Transport};

use super::claim::Protocol;
use super::decisions::Decisions;
use super::declared::DeclaredListeners;
use super::filters::FiltersOf;
use super::withheld::Withheld;
use crate::attachment::ListenerRoutes;
use crate::backend_tls::Unapplied;
use crate::certificates::ListenerTls;
use crate::gateways::{ClientCertificate, GroupOf, IsServed};
use crate::listener_sets::GroupSets;
use crate::memo::Query;
use crate::origin::origin;
use crate::routes::ServedRoute;
use crate::view::View;

/// A listener in the model; nothing if it is not accepted, unless it is merely shut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServedListener {
    pub(crate) gateway: ObjectKey,
    pub(crate) owner: ObjectKey,
    pub(crate) name: Arc<str>,
}

impl ServedListener {
    fn index(&self, view: &View<'_>) -> Option<usize> {
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let index = listeners.iter().position(|listener| listener.name.as_str() == &*self.name)?;
        let decisions = view.get(&Decisions { owner: self.owner.clone() });
        decisions.get(index).is_some_and(|decision| decision.stands()).then_some(index)
    }
}

impl Query for ServedListener {
    type Value = Option<Arc<Listener>>;

    fn compute(&self, view: &View<'_>) -> Option<Arc<Listener>> {
        let index = self.index(view)?;
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let listener = listeners.get(index)?;
        let attached = view.get(&ListenerRoutes { owner: self.owner.clone(), name: Arc::clone(&self.name) });
        let server = || view.get(&ListenerTls { owner: self.owner.clone(), index }).server.clone();
        let unapplied = Unapplied { gateway: self.gateway.clone() };
        let withheld = Withheld { view, policies: view.get(&unapplied) };
        let l4 = || withheld.l4(attached.all(ServedRoute::l4));
        let protocol = match listener.protocol? {
            Protocol::Http => ListenerProtocol::Http,
            Protocol::Https => ListenerProtocol::Https(server()),
            Protocol::Tls if listener.tls.is_some() => ListenerProtocol::TlsTerminate(server(), l4()),
            Protocol::Tls => ListenerProtocol::TlsPassthrough(attached.all(ServedRoute::passed_through)),
            Protocol::Tcp => ListenerProtocol::Tcp(l4()),
            Protocol::Udp => ListenerProtocol::Udp(l4()),
            Protocol::Http3 => ListenerProtocol::Http3(server()),
        };
        let client_certificate = view.get(&ClientCertificate { gateway: self.gateway.clone() });
        Some(Arc::new(Listener {
            id: ListenerId {
                gateway: origin(&self.gateway),
                owner: origin(&self.owner),
                name: Arc::clone(&self.name),
            },
            port: listener.port,
            hostname: listener.hostname.clone(),
            protocol,
            filters: withheld.filters(&view.get(&FiltersOf { owner: self.owner.clone(), index }).filters),
            client_certificate: client_certificate
                .as_ref()
                .as_ref()
                .and_then(|one| one.as_ref().ok())
                .cloned(),
            routes: withheld.requests(attached.all(ServedRoute::http)),
            grpc_routes: withheld.requests(attached.all(ServedRoute::grpc)),
        }))
    }
}

/// The TLS names of an accepted listener that ends TLS.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServedTls {
    pub(super) listener: ServedListener,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsNames {
    pub(super) hostname: HostPattern,
    pub(super) certificates: Vec<HostPattern>,
}

impl Query for ServedTls {
    type Value = Option<TlsNames>;

    fn compute(&self, view: &View<'_>) -> Option<TlsNames> {
        let owner = &self.listener.owner;
        let index = self.listener.index(view)?;
        let listeners = view.get(&DeclaredListeners { owner: owner.clone() });
        let listener = listeners.get(index).filter(|listener| listener.tls.is_some())?;
        let tls = view.get(&ListenerTls { owner: owner.clone(), index });
        let certificates = tls.server.iter().flat_map(|server| server.certificates.iter());
        let names = certificates.flat_map(|certificate| certificate.names().iter().cloned()).collect();
        Some(TlsNames { hostname: listener.hostname.clone(), certificates: names })
    }
}

/// The accepted listeners of a port of a group of Gateways, in merged order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PortListeners {
    pub(super) leader: ObjectKey,
    pub(super) port: u16,
}

impl Query for PortListeners {
    type Value = Vec<ServedListener>;

    fn compute(&self, view: &View<'_>) -> Vec<ServedListener> {
        let by_port = view.get(&GroupListeners { leader: self.leader.clone() });
        by_port.get(&self.port).map(|listeners| listeners.to_vec()).unwrap_or_default()
    }
}

/// The accepted listeners of a group of Gateways by port, in merged order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupListeners {
    leader: ObjectKey,
}

impl Query for GroupListeners {
    type Value = BTreeMap<u16, Arc<[ServedListener]>>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let group = view.get(&GroupOf { gateway: self.leader.clone() });
        let mut by_port: BTreeMap<u16, Vec<ServedListener>> = BTreeMap::new();
        let mut add = |gateway: &ObjectKey, owner: &ObjectKey| {
            let listeners = view.get(&DeclaredListeners { owner: owner.clone() });
            let decisions = view.get(&Decisions { owner: owner.clone() });
            for (listener, decision) in listeners.iter().zip(decisions.iter()) {
                if decision.stands() {
                    by_port.entry(listener.port).or_default().push(ServedListener {
                        gateway: gateway.clone(),
                        owner: owner.clone(),
                        name: listener.name.shared(),
                    });
                }
            }
        };
        for member in &group.members {
            if *view.get(&IsServed { gateway: member.gateway.clone() }) {
                add(&member.gateway, &member.gateway);
            }
        }
        for (set, index) in view.get(&GroupSets { leader: self.leader.clone() }).iter() {
            if let Some(member) = group.members.get(*index) {
                add(&member.gateway, set);
            }
        }
        by_port.into_iter().map(|(port, listeners)| (port, listeners.into())).collect()
    }
}

/// What is served at a port by these Gateways of a group: addresses that the same ones cover share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ServedPort {
    leader: ObjectKey,
    port: u16,
    transport: Transport,
    gateways: Arc<[ObjectKey]>,
}

impl Query for ServedPort {
    type Value = Arc<Port>;

    fn compute(&self, view: &View<'_>) -> Arc<Port> {
        let listeners = view.get(&PortListeners { leader: self.leader.clone(), port: self.port });
        let here = listeners.iter().filter(|listener| self.gateways.contains(&listener.gateway));
        let served = here.filter_map(|listener| (*view.get(listener)).clone());
        let carried = |one: &Arc<Listener>| one.protocol.transports().contains(&self.transport);
        Arc::new(Port { listeners: served.filter(carried).collect() })
    }
}

/// Everything that is bound, and what is served there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ports;

impl Query for Ports {
    type Value = BTreeMap<BindAddress, Arc<Port>>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let mut leaders = BTreeSet::new();
        for gateway in view.all(Kind::Gateway) {
            if *view.get(&IsServed { gateway: gateway.clone() }) {
                leaders.extend(view.get(&GroupOf { gateway }).leader().cloned());
            }
        }
        let mut ports = BTreeMap::new();
        for leader in leaders {
            let group = view.get(&GroupOf { gateway: leader.clone() });
            let numbers = view.get(&GroupListeners { leader: leader.clone() });
            let addresses = group.members.iter().flat_map(|member| member.addresses.iter().copied());
            for ip in addresses.collect::<BTreeSet<IpAddr>>() {
                let here = group.members.iter().filter(|member| member.covers(ip));
                let gateways: Arc<[ObjectKey]> = here.map(|member| member.gateway.clone()).collect();
                for port in numbers.keys().copied() {
                    let over = |transport| {
                        let (leader, gateways) = (leader.clone(), Arc::clone(&gateways));
                        Arc::clone(&*view.get(&ServedPort { leader, port, transport, gateways }))
                    };
                    let tcp = over(Transport::Tcp);
                    let udp = if tcp.speaks_quic() { Arc::clone(&tcp) } else { over(Transport::Udp) };
                    for (transport, served) in [(Transport::Tcp, tcp), (Transport::Udp, udp)] {
                        if !served.listeners.is_empty() {
                            ports.insert(BindAddress { ip, port, transport }, served);
                        }
                    }
                }
            }
        }
        ports
    }
}
