//! Workers: a thread each, with its own runtime, sockets and upstream connections.

use std::cell::Cell;
use std::io;
use std::net::{TcpListener as StdListener, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hashbrown::HashMap;
use portcullis_model::BindAddress;
use tokio::net::TcpListener;
use tokio::runtime::LocalOptions;
use tokio::sync::{Notify, mpsc, watch};

use crate::budget::{Budget, Places};
use crate::buffers::Buffers;
use crate::l4::udp;
use crate::listen::{OpenPort, accept};
use crate::quic;
use crate::scratch::Scratches;
use crate::shared::{Phase, Shared};
use crate::telemetry::WorkerMetrics;
use crate::timer::{Timer, Wheel};
use crate::upstream::{Cluster, Forbidden, Pools};
use crate::view::{Version, View};

/// How often expired upstream connections are closed.
const SWEEP: Duration = Duration::from_secs(1);

/// What a worker's tasks share.
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) scratches: Scratches,
    pub(crate) pools: Pools,
    /// For copies of bodies.
    pub(crate) copies: Rc<Budget>,
    /// Copies of requests on their way.
    pub(crate) mirrored: Rc<Places>,
    /// Told of every new configuration.
    pub(crate) refreshed: Notify,
    view: View,
    wheel: Rc<Wheel>,
    random: Cell<u64>,
}

/// What a worker is told.
pub(crate) enum Command {
    /// Accept at this socket of a port's set.
    Listen(Arc<OpenPort>, StdListener),
    /// Serve the datagrams that come to this socket of a port's set.
    Datagrams(Arc<OpenPort>, UdpSocket),
    /// Serve QUIC at this place.
    Quic(Box<quic::Place>),
    /// Accept no more at a port, but for what is queued.
    Close(BindAddress),
    /// There is a new configuration: let go of the old one, and of endpoints that have gone from these backends, even
    /// without requests.
    Refresh(Arc<[Arc<Cluster>]>),
    /// The phase has become [`Phase::Draining`]: accept no more and let idle connections look at it.
    Drain,
}

/// A running worker; it ends when this is dropped.
pub(crate) struct WorkerHandle {
    commands: Option<mpsc::UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerHandle {
    pub(crate) fn start(index: usize, shared: &Arc<Shared>) -> io::Result<WorkerHandle> {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
        };
        let (commands, received) = mpsc::unbounded_channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let shared = Arc::clone(shared);
        let body = move || match runtime() {
            Ok(runtime) => {
                let _ = ready.send(Ok(()));
                runtime.block_on(run(index, shared, received));
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(body)?;
        is_ready.recv().unwrap_or(Err(io::ErrorKind::Other.into()))?;
        Ok(WorkerHandle { commands: Some(commands), thread: Some(thread) })
    }

    pub(crate) fn tell(&self, command: Command) {
        // A worker that has ended needs to be told nothing.
        let _ = self.commands.as_ref().map(|commands| commands.send(command));
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn run(index: usize, shared: Arc<Shared>, mut commands: mpsc::UnboundedReceiver<Command>) {
    let worker = Rc::new(Worker::new(index, shared));
    tokio::task::spawn_local(Rc::clone(&worker.wheel).run());
    tokio::task::spawn_local(sweep(Rc::clone(&worker)));
    let mut closing: HashMap<BindAddress, watch::Sender<bool>> = HashMap::new();
    let mut quic_closing: HashMap<BindAddress, watch::Sender<bool>> = HashMap::new();
    while let Some(command) = commands.recv().await {
        match command {
            Command::Listen(port, listener) => match TcpListener::from_std(listener) {
                Ok(listener) => {
                    let close = closing.entry(port.address).or_insert_with(|| watch::channel(false).0);
                    let closes = close.subscribe();
                    tokio::task::spawn_local(accept::accept(Rc::clone(&worker), listener, port, closes));
                }
                Err(error) => {
                    tracing::error!(address = %port.local, %error, "a socket cannot be accepted at");
                }
            },
            Command::Datagrams(port, socket) => {
                let close = closing.entry(port.address).or_insert_with(|| watch::channel(false).0);
                tokio::task::spawn_local(datagrams(Rc::clone(&worker), socket, port, close.subscribe()));
            }
            Command::Quic(place) => {
                let close = quic_closing.entry(place.port.address).or_insert_with(|| watch::channel(false).0);
                // An endpoint that waits for its last connections goes on.
                let _ = close.send(false);
                if close.is_closed() {
                    tokio::task::spawn_local(quic(Rc::clone(&worker), *place, close.subscribe()));
                }
            }
            Command::Close(address) => {
                if let Some(close) = quic_closing.get(&address) {
                    let _ = close.send(true);
                }
                if let Some(close) = closing.remove(&address) {
                    let _ = close.send(true);
                }
            }
            Command::Refresh(clusters) => {
                drop(worker.config());
                worker.pools.refresh_all(&clusters);
                worker.refreshed.notify_waiters();
            }
            Command::Drain => {
                for (_, close) in closing.drain() {
                    let _ = close.send(true);
                }
                for close in quic_closing.values() {
                    let _ = close.send(true);
                }
                worker.wheel.wake_all();
            }
        }
    }
}

async fn datagrams(
    worker: Rc<Worker>,
    socket: UdpSocket,
    port: Arc<OpenPort>,
    closes: watch::Receiver<bool>,
) {
    if let Err(error) = udp::serve(worker, socket, Arc::clone(&port), closes).await {
        tracing::error!(address = %port.local, %error, "datagrams cannot be received");
    }
}

async fn quic(worker: Rc<Worker>, place: quic::Place, closes: watch::Receiver<bool>) {
    let local = place.port.local;
    if let Err(error) = quic::serve(worker, place, closes).await {
        tracing::error!(address = %local, %error, "HTTP/3 cannot be served");
    }
}

async fn sweep(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        worker.pools.sweep();
    }
}

/// A client's connection, counted while it is open.
pub(crate) struct OpenConnection(Arc<WorkerMetrics>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connection_closed();
    }
}

impl Worker {
    fn new(index: usize, shared: Arc<Shared>) -> Worker {
        let metrics = shared.metrics.get(index).cloned().unwrap_or_default();
        let forbidden = Forbidden { admin: shared.options.admin, scope: shared.options.upstreams.clone() };
        let buffers = Rc::default();
        let copies = Budget::new(shared.options.limits.copied_bytes.0);
        Worker {
            index,
            metrics,
            scratches: Scratches::new(&buffers, &copies, &shared.options.limits),
            buffers,
            mirrored: Places::new(shared.options.limits.mirror_requests),
            copies,
            pools: Pools::new(&shared.options.limits, forbidden, &shared.options.clock),
            refreshed: Notify::new(),
            view: View::default(),
            wheel: Wheel::new(),
            random: Cell::new(seed()),
            shared,
        }
    }

    pub(crate) fn timer(&self) -> Timer {
        self.wheel.timer()
    }

    /// The newest configuration.
    pub(crate) fn config(&self) -> Rc<Version> {
        self.view.current(&self.shared)
    }

    pub(crate) fn draining(&self) -> bool {
        self.shared.phase() == Phase::Draining
    }

    pub(crate) fn open_connection(&self) -> OpenConnection {
        self.metrics.connection_opened();
        OpenConnection(Arc::clone(&self.metrics))
    }

    /// The next number of a sequence that tells requests apart; it guards nothing (splitmix64).
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::time::SystemTime::now())
}
