//! The instances of backends. They depend on Services, EndpointSlices and Backends alone: a new endpoint is no
//! new translation.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use portcullis_api::backend::BackendEndpoint;
use portcullis_api::k8s_openapi::api::core::v1::Service;
use portcullis_api::k8s_openapi::api::discovery::v1::{EndpointConditions, EndpointSlice};
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{
    Endpoint, EndpointAddress, EndpointState, Endpoints, EndpointsKey, Hostname, Transport,
};

use super::hints::Distribution;
use super::services::{find_port, is_over};
use crate::memo::Query;
use crate::view::View;

/// The endpoints of a backend; none if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndpointsOf {
    pub(crate) key: EndpointsKey,
}

impl Query for EndpointsOf {
    type Value = Arc<Endpoints>;

    fn compute(&self, view: &View<'_>) -> Arc<Endpoints> {
        let origin = &self.key.origin;
        let object = |kind| ObjectKey::new(kind, Arc::clone(&origin.namespace), Arc::clone(&origin.name));
        let mut endpoints = match &*origin.kind {
            "Service" => of_service(view, &object(Kind::Service), self.key.port, self.key.transport),
            "Backend" => of_backend(view, &object(Kind::Backend)),
            _ => Vec::new(),
        };
        endpoints.retain(|endpoint| in_scope(view, &endpoint.address));
        // Ready sorts before draining, so that an address in both states is ready.
        endpoints.sort();
        endpoints.dedup_by(|later, earlier| later.address == earlier.address);
        Arc::new(Endpoints { key: self.key.clone(), endpoints })
    }
}

/// Whether an endpoint may be where it is. Names are asked about again once they are resolved.
pub(super) fn in_scope(view: &View<'_>, address: &EndpointAddress) -> bool {
    let scope = &view.engine().upstreams;
    match address {
        EndpointAddress::Socket(address) => scope.admits(address.ip()),
        EndpointAddress::Name { .. } => true,
        EndpointAddress::Unix(_) => scope.admits_unix(),
    }
}

/// Headless or not, with or without selector: what the EndpointSlices say.
fn of_service(view: &View<'_>, key: &ObjectKey, port: u16, transport: Transport) -> Vec<Endpoint> {
    let Some(service) = view.service(key) else { return Vec::new() };
    let slices = view.attached(Kind::EndpointSlice, key);
    let slices = slices.iter().filter_map(|slice| view.endpoint_slice(slice));
    slices.flat_map(|slice| of_slice(&slice, &service, port, transport)).collect()
}

/// Slice ports are found by the name of the Service's port; both may be nameless.
fn of_slice(slice: &EndpointSlice, service: &Service, port: u16, transport: Transport) -> Vec<Endpoint> {
    let Some(service_port) = find_port(service, port, transport) else { return Vec::new() };
    let name = service_port.name.as_deref().unwrap_or_default();
    let ports = slice.ports.iter().flatten();
    let mut numbers = ports
        .filter(|port| port.name.as_deref().unwrap_or_default() == name)
        .filter(|port| is_over(port.protocol.as_deref(), transport))
        .filter_map(|port| u16::try_from(port.port?).ok().filter(|port| *port != 0));
    let Some(number) = numbers.next() else { return Vec::new() };
    let distribution = Distribution::of(service);
    let mut endpoints = Vec::new();
    for endpoint in slice.endpoints.iter().flatten() {
        let Some(state) = state(endpoint.conditions.as_ref()) else { continue };
        let hints = distribution.hints(endpoint);
        let addresses = endpoint.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
        endpoints.extend(addresses.map(|ip| Endpoint {
            address: EndpointAddress::Socket(SocketAddr::new(ip, number)),
            state,
            hints: hints.clone(),
        }));
    }
    endpoints
}

/// Source: `EndpointConditions` field documentation: unknown `ready` and `serving` count as true, an unknown
/// `terminating` as false. One that is neither ready nor terminating serves nothing, whatever it says of serving.
fn state(conditions: Option<&EndpointConditions>) -> Option<EndpointState> {
    let Some(conditions) = conditions else { return Some(EndpointState::Ready) };
    if conditions.ready.unwrap_or(true) {
        Some(EndpointState::Ready)
    } else if conditions.serving.unwrap_or(true) && conditions.terminating == Some(true) {
        Some(EndpointState::Draining)
    } else {
        None
    }
}

fn of_backend(view: &View<'_>, key: &ObjectKey) -> Vec<Endpoint> {
    let Some(backend) = view.backend(key) else { return Vec::new() };
    let addresses = backend.spec.endpoints.iter().filter_map(address);
    addresses.map(Endpoint::ready).collect()
}

/// Where an endpoint of a Backend listens, unless its address or port cannot be used.
pub(super) fn address(endpoint: &BackendEndpoint) -> Option<EndpointAddress> {
    if let Some(ip) = &endpoint.ip {
        let address = ip.address.as_str().parse().ok()?;
        return (ip.port != 0).then(|| EndpointAddress::Socket(SocketAddr::new(address, ip.port)));
    }
    if let Some(fqdn) = &endpoint.fqdn {
        let hostname = Hostname::new(fqdn.hostname.as_str())?;
        return (fqdn.port != 0).then_some(EndpointAddress::Name { hostname, port: fqdn.port });
    }
    endpoint.unix.as_ref().map(|unix| EndpointAddress::Unix(Arc::clone(&unix.path)))
}
