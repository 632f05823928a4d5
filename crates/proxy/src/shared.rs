//! What all threads of a proxy share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::listen::scarcity::Scarcity;
use crate::options::ProxyOptions;
use crate::tables::Config;
use crate::telemetry::{AccessLog, WorkerMetrics};
use crate::upstream::EndpointSets;

/// What all threads of a proxy share.
pub(crate) struct Shared {
    pub(crate) options: ProxyOptions,
    pub(crate) metrics: Vec<Arc<WorkerMetrics>>,
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) scarcity: Scarcity,
    /// What is known of endpoints.
    pub(crate) endpoints: Arc<EndpointSets>,
    config: ArcSwap<Config>,
    /// Counts the configurations; connections look at it once a request.
    generation: AtomicU64,
    phase: AtomicU8,
    /// Whether a successor receives the datagrams of clients.
    left: watch::Sender<bool>,
}

/// How far a proxy's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// No configuration has come yet.
    Starting,
    /// It serves and is ready.
    Serving,
    /// It serves, and says that it soon will not.
    Leaving,
    /// It accepts no more and ends what it has.
    Draining,
}

impl Shared {
    pub(crate) fn new(options: ProxyOptions, access_log: Option<AccessLog>) -> Shared {
        Shared {
            endpoints: Arc::new(EndpointSets::new(&options.limits, &options.clock)),
            metrics: (0..options.workers).map(|_| Arc::default()).collect(),
            options,
            access_log,
            scarcity: Scarcity::default(),
            config: ArcSwap::default(),
            generation: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::Starting as u8),
            left: watch::Sender::new(false),
        }
    }

    /// The configuration's number; 0 before the first.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Makes a configuration that of all requests to come.
    pub(crate) fn publish(&self, config: Arc<Config>) {
        self.config.store(config);
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Leaving,
            _ => Phase::Draining,
        }
    }

    /// Moves on to a later phase.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::Release);
    }

    /// From now on a successor receives the datagrams of clients.
    pub(crate) fn leave(&self) {
        self.left.send_replace(true);
    }

    /// Tells when [`Shared::leave`] was called.
    pub(crate) fn left(&self) -> watch::Receiver<bool> {
        self.left.subscribe()
    }

    /// Connections of clients that are open.
    pub(crate) fn open_connections(&self) -> u64 {
        self.metrics.iter().map(|metrics| metrics.open_connections()).sum()
    }
}
