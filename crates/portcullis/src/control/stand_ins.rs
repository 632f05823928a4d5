//! Backends for Services that nobody stands behind, so that a first try needs nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use portcullis_api::k8s_openapi::api::core::v1::Service;
use portcullis_api::k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_api::{Kind, Object, ObjectKey};
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
    standing: BTreeMap<ObjectKey, BTreeMap<u16, Standing>>,
}

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

    /// Stands for each TCP port of a Service; says whether anything is different now.
    async fn stand_for(&mut self, key: &ObjectKey, service: &Service) -> Result<bool, Failure> {
        let wanted: BTreeSet<u16> = tcp_ports(service).map(|(_, port)| port).collect();
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

    async fn start(&mut self, key: &ObjectKey, port: u16) -> Result<Standing, Failure> {
        let listener = server::bind(self.address).await?;
        if self.address.port() != 0 {
            self.address.set_port(self.address.port().saturating_add(1));
        }
        let address = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
        let service = format!("{}/{}", key.namespace, key.name);
        let answers = EchoAnswers { stands_for: Some(StandsFor { service, port }) };
        let task = tokio::spawn(server::serve(listener, answers)).abort_handle();
        Ok(Standing { address, task })
    }

    /// The EndpointSlice that leads to a Service's stand-ins.
    fn slice(&self, key: &ObjectKey, service: &Service) -> EndpointSlice {
        let standing = self.standing.get(key);
        let ports = tcp_ports(service).filter_map(|(name, port)| {
            let address = standing.and_then(|ports| ports.get(&port))?.address;
            Some(EndpointPort { name, port: Some(i32::from(address.port())), ..EndpointPort::default() })
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

/// Name and number of a Service's TCP ports.
fn tcp_ports(service: &Service) -> impl Iterator<Item = (Option<String>, u16)> {
    let ports = service.spec.iter().filter_map(|spec| spec.ports.as_ref()).flatten();
    ports
        .filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"))
        .filter_map(|port| Some((port.name.clone(), u16::try_from(port.port).ok()?)))
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
