//! A backend's endpoints, which change in place under the rules that lead to them.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use portcullis_model::{ClusterKey, EndpointAddress, Endpoints, UpstreamProtocol};

use super::tls::TlsClient;

/// A backend as it is spoken to, shared by all rules that lead to it.
pub(crate) struct Cluster {
    pub(crate) key: ClusterKey,
    /// Never the same for two clusters of a process.
    pub(crate) id: u64,
    /// Counts the changes of `targets`.
    version: AtomicU64,
    targets: ArcSwap<Vec<Arc<Target>>>,
}

/// Where requests to an endpoint go, and all that makes a connection to it different from others.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: EndpointAddress,
    pub(crate) protocol: UpstreamProtocol,
    /// The address, for logs.
    pub(crate) label: String,
    /// Never the same for two targets of a process: connections are pooled by it.
    pub(crate) id: u64,
    /// How TLS is spoken to it; nothing is in clear.
    pub(super) tls: Option<Arc<TlsClient>>,
    /// The last handshake failed: said once.
    failing: AtomicBool,
}

impl Target {
    pub(super) fn new(
        address: &EndpointAddress,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> Target {
        Target {
            address: address.clone(),
            protocol,
            label: label(address),
            id: next_id(),
            tls: tls.cloned(),
            failing: AtomicBool::new(false),
        }
    }

    /// Whether it is spoken to over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Says that TLS fails, or works again; once each.
    pub(super) fn note_handshake(&self, failure: Option<&str>) {
        let before = self.failing.load(Ordering::Relaxed);
        if before == failure.is_some() || self.failing.swap(!before, Ordering::Relaxed) != before {
            return;
        }
        match failure {
            Some(why) => tracing::warn!(endpoint = self.label, why, "TLS to an endpoint fails"),
            None => tracing::info!(endpoint = self.label, "TLS to an endpoint works again"),
        }
    }
}

pub(super) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Cluster {
    pub(crate) fn new(key: ClusterKey) -> Cluster {
        Cluster { key, id: next_id(), version: AtomicU64::new(0), targets: ArcSwap::default() }
    }

    pub(crate) fn set_endpoints(&self, targets: Option<Vec<Arc<Target>>>) {
        self.targets.store(Arc::new(targets.unwrap_or_default()));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes whenever the endpoints do.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn targets(&self) -> Arc<Vec<Arc<Target>>> {
        self.targets.load_full()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.key).finish()
    }
}

/// The targets in use: an endpoint that several backends or versions have in common keeps its connections.
#[derive(Default)]
pub(crate) struct Targets(HashMap<TargetKey, Weak<Target>, foldhash::fast::RandomState>);

/// With the id of the TLS settings, if any.
type TargetKey = (EndpointAddress, UpstreamProtocol, Option<u64>);

impl Targets {
    /// The targets of the endpoints that take requests.
    pub(crate) fn of(
        &mut self,
        endpoints: &Endpoints,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> Vec<Arc<Target>> {
        endpoints.usable().map(|endpoint| self.target(&endpoint.address, protocol, tls)).collect()
    }

    fn target(
        &mut self,
        address: &EndpointAddress,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> Arc<Target> {
        let slot = self.0.entry((address.clone(), protocol, tls.map(|tls| tls.id))).or_default();
        if let Some(target) = slot.upgrade() {
            return target;
        }
        let target = Arc::new(Target::new(address, protocol, tls));
        *slot = Arc::downgrade(&target);
        target
    }

    /// Forgets those out of use.
    pub(crate) fn sweep(&mut self) {
        self.0.retain(|_, target| target.strong_count() > 0);
    }
}

fn label(address: &EndpointAddress) -> String {
    match address {
        EndpointAddress::Socket(address) => address.to_string(),
        EndpointAddress::Name { hostname, port } => format!("{}:{port}", hostname.as_str()),
        EndpointAddress::Unix(path) => format!("unix:{path}"),
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Endpoint, EndpointState, EndpointsKey, Origin, Transport};

    use super::*;

    fn endpoints(ports: &[u16]) -> Endpoints {
        let origin = Origin { kind: "Service".into(), namespace: "default".into(), name: "web".into() };
        let endpoint = |port: &u16| Endpoint {
            address: EndpointAddress::Socket(([10, 0, 0, 1], *port).into()),
            state: EndpointState::Ready,
        };
        Endpoints {
            key: EndpointsKey { origin, port: 80, transport: Transport::Tcp },
            endpoints: ports.iter().map(endpoint).collect(),
        }
    }

    #[test]
    fn an_endpoint_that_stays_keeps_its_identity() {
        let mut targets = Targets::default();
        let before = targets.of(&endpoints(&[1, 2]), UpstreamProtocol::Http1, None);
        let after = targets.of(&endpoints(&[2, 3]), UpstreamProtocol::Http1, None);
        assert_eq!(before[1].id, after[0].id);
        assert_ne!(before[0].id, after[1].id);
        drop((before, after));
        targets.sweep();
        assert!(targets.0.is_empty());
    }
}
