//! A backend's endpoints, which change in place under the rules that lead to them.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use portcullis_model::{ClusterKey, EndpointAddress, UpstreamProtocol};

use super::health::{EndpointSet, Health};
use super::tls::TlsClient;

/// A backend as it is spoken to, shared by all rules that lead to it.
pub(crate) struct Cluster {
    pub(crate) key: ClusterKey,
    /// Never the same for two clusters of a process.
    pub(crate) id: u64,
    /// Counts the changes of `targets`.
    version: AtomicU64,
    targets: ArcSwap<ClusterTargets>,
}

/// The targets of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterTargets {
    /// They take requests.
    pub(crate) used: Vec<Arc<Target>>,
    /// They take none, but keep what they have: they are ending, or others are nearer.
    pub(crate) kept: Vec<Arc<Target>>,
}

/// Where requests to an endpoint go, and all that makes a connection to it different from others.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: EndpointAddress,
    pub(crate) protocol: UpstreamProtocol,
    /// The address, for logs.
    pub(crate) label: String,
    /// What is known of the endpoint, by whatever protocol it is spoken to.
    pub(crate) health: Arc<Health>,
    /// Never the same for two targets of a process: connections are pooled by it.
    pub(crate) id: u64,
    /// How TLS is spoken to it; nothing is in clear.
    pub(super) tls: Option<Arc<TlsClient>>,
    /// The last handshake failed: said once.
    failing: AtomicBool,
}

impl Target {
    pub(super) fn new(
        health: &Arc<Health>,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> Target {
        Target {
            address: health.address.clone(),
            protocol,
            label: health.address.to_string(),
            health: Arc::clone(health),
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

    pub(crate) fn set_targets(&self, targets: ClusterTargets) {
        self.targets.store(Arc::new(targets));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes whenever the endpoints do.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn targets(&self) -> Arc<ClusterTargets> {
        self.targets.load_full()
    }

    /// Whether a target is still one of this cluster's, though others may take the requests to come.
    pub(crate) fn knows(&self, target: u64) -> bool {
        let targets = self.targets.load();
        targets.used.iter().chain(&targets.kept).any(|known| known.id == target)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.key).finish()
    }
}

/// The targets in use: an endpoint that stays keeps its connections.
#[derive(Default)]
pub(crate) struct Targets(HashMap<TargetKey, Weak<Target>, foldhash::fast::RandomState>);

/// The endpoint's id, and that of the TLS settings, if any.
type TargetKey = (u64, UpstreamProtocol, Option<u64>);

impl Targets {
    /// The targets of a backend's endpoints.
    pub(crate) fn of(
        &mut self,
        set: &EndpointSet,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> ClusterTargets {
        let mut targets = ClusterTargets::default();
        for (health, used) in set.healths() {
            let target = self.target(&health, protocol, tls);
            if used { targets.used.push(target) } else { targets.kept.push(target) }
        }
        targets
    }

    fn target(
        &mut self,
        health: &Arc<Health>,
        protocol: UpstreamProtocol,
        tls: Option<&Arc<TlsClient>>,
    ) -> Arc<Target> {
        let slot = self.0.entry((health.id, protocol, tls.map(|tls| tls.id))).or_default();
        if let Some(target) = slot.upgrade() {
            return target;
        }
        let target = Arc::new(Target::new(health, protocol, tls));
        *slot = Arc::downgrade(&target);
        target
    }

    /// Forgets those out of use.
    pub(crate) fn sweep(&mut self) {
        self.0.retain(|_, target| target.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Endpoint, Endpoints, EndpointsKey, Locality, Origin, Transport};

    use super::super::health::EndpointSets;
    use super::*;
    use crate::clock::Clock;
    use crate::limits::Limits;

    fn endpoints(ports: &[u16]) -> Arc<Endpoints> {
        let origin = Origin { kind: "Service".into(), namespace: "default".into(), name: "web".into() };
        let endpoint = |port: &u16| Endpoint::ready(EndpointAddress::Socket(([10, 0, 0, 1], *port).into()));
        Arc::new(Endpoints {
            key: EndpointsKey { origin, port: 80, transport: Transport::Tcp },
            endpoints: ports.iter().map(endpoint).collect(),
        })
    }

    #[test]
    fn an_endpoint_that_stays_keeps_its_identity() {
        let sets = EndpointSets::new(&Limits::default(), &Clock::manual());
        let mut targets = Targets::default();
        let mut of = |ports: &[u16], protocol| {
            let endpoints = endpoints(ports);
            let set = sets.of(&endpoints.key);
            set.update(&endpoints, &Locality::default());
            targets.of(&set, protocol, None).used
        };
        let before = of(&[1, 2], UpstreamProtocol::Http1);
        let after = of(&[2, 3], UpstreamProtocol::Http1);
        assert_eq!(before[1].id, after[0].id);
        assert_ne!(before[0].id, after[1].id);
        let otherwise = of(&[2, 3], UpstreamProtocol::Http2);
        assert_ne!(otherwise[0].id, after[0].id);
        assert_eq!(otherwise[0].health.id, after[0].health.id);
        drop((before, after, otherwise));
        targets.sweep();
        assert!(targets.0.is_empty());
    }
}
