//! Backends for Services that nobody stands behind, so that a first try needs nothing else.

mod udp;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use portcullis_api::k8s_openapi::api::core::v1::Service;
use portcullis_api::k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_model::Transport;
use portcullis_store::{Bucket, Change, ChangeSet, SERVICE_NAME, Store};
use tokio::task::AbortHandle;

use crate::address::reachable;
use crate::echo::{EchoAnswers, StandsFor};
use crate::exit::Failure;
use crate::server;

/// The label that says who wrote an EndpointSlice, and our value of it.
const MANAGED_BY: (&str, &str) = ("endpointslice.kubernetes.io/managed-by", "echo.portcullis.dev");

/// Echo servers, one for each port of each Service without endpoints.
pub(crate) struct StandIns {
    address: SocketAddr,
    standing: BTreeMap<ObjectKey, BTreeMap<Served, Standing>>,
}

/// A port of a Service, and what carries what comes there.
type Served = (Transport, u16);

/// An echo server, ended with this value.
struct Standing {
    address: SocketAddr,
    task: AbortHandle,
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl StandIns {
    /// None yet. They will listen on this address; with a port other than 0 on that and those that follow it.
    pub(crate) fn on(address: SocketAddr) -> Self {
        Self { address, standing: BTreeMap::new() }
    }

    /// Whether changes may have made a stand-in necessary or needless.
    pub(crate) fn concerns(changes: &ChangeSet) -> bool {
        changes.objects.iter().any(|key| matches!(key.kind, Kind::Service | Kind::EndpointSlice))
    }

    /// Whether an object is the EndpointSlice of a stand-in.
    pub(crate) fn owns(object: &Object) -> bool {
        label(object, MANAGED_BY.0) == Some(MANAGED_BY.1)
    }

    /// Starts and ends stand-ins so that every Service without endpoints has them and no other has; gives the
    /// changes by which resolution learns of them.
    pub(crate) async fn adjust(&mut self, store: &Store) -> Result<Vec<Change>, Failure> {
        let services: BTreeMap<ObjectKey, &Service> =
            store.list(Kind::Service).filter_map(needy(store)).collect();
        let mut changes = Vec::new();
        let gone: Vec<ObjectKey> =
            self.standing.keys().filter(|service| !services.contains_key(*service)).cloned().collect();
        for service in gone {
            self.standing.remove(&service);
            changes.push(Change::Remove(slice_key(&service)));
        }
        for (key, service) in services {
            if self.stand_for(&key, service).await? {
                changes.push(Change::Put(self.slice(&key, service).into()));
            }
        }
        Ok(changes)
    }

    /// How many ports have a stand-in.
    pub(crate) fn count(&self) -> usize {
        self.standing.values().map(BTreeMap::len).sum()
    }

    /// Stands for each port of a Service; says whether anything is different now.
    async fn stand_for(&mut self, key: &ObjectKey, service: &Service) -> Result<bool, Failure> {
        let wanted: BTreeSet<Served> = ports(service).map(|(_, port)| port).collect();
        let known = self.standing.get(key).map(|ports| ports.keys().copied().collect()).unwrap_or_default();
        if wanted == known {
            return Ok(false);
        }
        for port in wanted.difference(&known) {
            let standing = self.start(key, *port).await?;
            self.standing.entry(key.clone()).or_default().insert(*port, standing);
        }
        if let Some(ports) = self.standing.get_mut(key) {
            ports.retain(|port, _| wanted.contains(port));
        }
        Ok(true)
    }

    async fn start(&mut self, key: &ObjectKey, (transport, port): Served) -> Result<Standing, Failure> {
        let at = self.address;
        if at.port() != 0 {
            self.address.set_port(at.port().saturating_add(1));
        }
        let (address, task) = match transport {
            Transport::Tcp => {
                let listener = server::bind(at).await?;
                let service = format!("{}/{}", key.namespace, key.name);
                let answers = EchoAnswers { stands_for: Some(StandsFor { service, port }) };
                (listener.local_addr(), tokio::spawn(server::serve(listener, answers)))
            }
            Transport::Udp => {
                let socket = udp::bind(at).await?;
                (socket.local_addr(), tokio::spawn(udp::serve(socket)))
            }
        };
        let address = address.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Standing { address, task: task.abort_handle() })
    }

    /// The EndpointSlice that leads to a Service's stand-ins.
    fn slice(&self, key: &ObjectKey, service: &Service) -> EndpointSlice {
        let standing = self.standing.get(key);
        let ports = ports(service).filter_map(|(name, served)| {
            let address = standing.and_then(|ports| ports.get(&served))?.address;
            let protocol = if served.0 == Transport::Udp { "UDP" } else { "TCP" };
            let (port, protocol) = (Some(i32::from(address.port())), Some(protocol.to_owned()));
            Some(EndpointPort { name, port, protocol, ..EndpointPort::default() })
        });
        let address = reachable(self.address.ip());
        let family = if matches!(address, IpAddr::V4(_)) { "IPv4" } else { "IPv6" };
        let labels = [(SERVICE_NAME, &*key.name), MANAGED_BY];
        EndpointSlice {
            metadata: ObjectMeta {
                name: Some(slice_key(key).name.to_string()),
                namespace: Some(key.namespace.to_string()),
                labels: Some(labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()),
                ..ObjectMeta::default()
            },
            address_type: family.to_owned(),
            endpoints: Some(vec![Endpoint { addresses: vec![address.to_string()], ..Endpoint::default() }]),
            ports: Some(ports.collect()),
        }
    }
}

/// Picks Services that could have endpoints and have none but ours.
fn needy(store: &Store) -> impl Fn(&Object) -> Option<(ObjectKey, &Service)> {
    move |object| {
        let Object::Service(service) = object else { return None };
        let spec = service.spec.as_ref()?;
        if spec.type_.as_deref() == Some("ExternalName") {
            return None;
        }
        let key = object.key();
        let others = Bucket::endpoints_of(key.clone());
        let has_endpoints = store.bucket(&others).any(|slice| !StandIns::owns(slice) && !is_empty(slice));
        (!has_endpoints).then_some((key, &**service))
    }
}

fn is_empty(slice: &Object) -> bool {
    match slice {
        Object::EndpointSlice(slice) => slice.endpoints.as_ref().is_none_or(Vec::is_empty),
        _ => true,
    }
}

/// A Service's ports of TCP and UDP, with their names.
fn ports(service: &Service) -> impl Iterator<Item = (Option<String>, Served)> {
    let ports = service.spec.iter().filter_map(|spec| spec.ports.as_ref()).flatten();
    ports.filter_map(|port| {
        let transport = match port.protocol.as_deref() {
            None | Some("TCP") => Transport::Tcp,
            Some("UDP") => Transport::Udp,
            Some(_) => return None,
        };
        Some((port.name.clone(), (transport, u16::try_from(port.port).ok()?)))
    })
}

fn slice_key(service: &ObjectKey) -> ObjectKey {
    let name = format!("{}.echo.portcullis.dev", service.name);
    ObjectKey::new(Kind::EndpointSlice, service.namespace.clone(), name)
}

fn label<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.metadata().labels.as_ref()?.get(name).map(String::as_str)
}

#[cfg(test)]
mod tests;
