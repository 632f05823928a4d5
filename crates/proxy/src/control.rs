//! The configuration's way to the workers: tables, then sockets; and binding again what could not be bound.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use hashbrown::HashMap;
use portcullis_model::{BindAddress, Locality, Model, Port, Transport};
use tokio::sync::oneshot;

use crate::listen::OpenPort;
use crate::listen::bind::{BindFailure, bind_datagrams, bind_set};
use crate::listen::inherited::{Inherited, share};
use crate::proxy::Report;
use crate::quic::{self, Handover, Place};
use crate::shared::{Phase, Shared};
use crate::tables::Builder;
use crate::telemetry::admin::{self, AdminSocket};
use crate::worker::{Command, WorkerHandle};

/// How often addresses that could not be bound are tried again: at first, and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// What changes with the configuration.
pub(crate) struct Control {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct State {
    builder: Builder,
    workers: Vec<WorkerHandle>,
    bindings: HashMap<BindAddress, Binding>,
    inherited: Inherited,
    reporter: Sender<Report>,
    draining: bool,
    /// For the connection IDs of HTTP/3.
    quic: quic::Key,
    /// Ports of QUIC that are no longer bound, as far as workers still have them.
    ending: HashMap<BindAddress, Quic>,
}

impl State {
    /// Has the workers look at what is new.
    fn refresh(&mut self) {
        let settled = self.builder.take_settled();
        self.workers.iter().for_each(|worker| worker.tell(Command::Refresh(Arc::clone(&settled))));
    }
}

/// How binding an address went last.
type Binding = Result<Bound, BindFailure>;

/// An address that is bound.
struct Bound {
    local: SocketAddr,
    /// What QUIC needs, if that is what comes.
    quic: Option<Quic>,
    /// The sockets that the workers accept at, for a successor. They end with the binding, before the workers' own.
    sockets: Vec<OwnedFd>,
}

/// A port of QUIC. It outlives its binding while connections last that have to end.
struct Quic {
    port: Weak<OpenPort>,
    sockets: Vec<UdpSocket>,
    handover: Handover,
}

impl Control {
    pub(crate) fn start(
        shared: &Arc<Shared>,
        inherited: Inherited,
        reporter: Sender<Report>,
    ) -> io::Result<Control> {
        let workers = (0..shared.options.workers).map(|index| WorkerHandle::start(index, shared));
        let state = State {
            builder: Builder::new(&shared.options, &shared.endpoints),
            workers: workers.collect::<io::Result<_>>()?,
            bindings: HashMap::new(),
            inherited,
            reporter,
            draining: false,
            quic: quic::Key::default(),
            ending: HashMap::new(),
        };
        Ok(Control { shared: Arc::clone(shared), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic half-way leaves at worst an address unbound, which the next model puts right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn apply(&self, model: &Arc<Model>) {
        let mut state = self.state();
        let config = state.builder.build(Arc::clone(model));
        self.shared.publish(config);
        state.refresh();
        let gone: Vec<BindAddress> = state
            .bindings
            .iter()
            .filter(|entry| !is_for(model, *entry))
            .map(|(address, _)| *address)
            .collect();
        state.ending.retain(|_, quic| quic.port.strong_count() > 0);
        for address in gone {
            let bound = state.bindings.remove(&address).and_then(Result::ok);
            if let Some(quic) = bound.and_then(|bound| bound.quic) {
                state.ending.insert(address, quic);
            }
            state.workers.iter().for_each(|worker| worker.tell(Command::Close(address)));
        }
        for address in model.ports.keys() {
            if !state.bindings.contains_key(address) {
                self.bind(&mut state, *address);
            }
        }
        state.builder.sweep();
        self.shared.advance(Phase::Serving); // not before its addresses are bound: who waits for it connects at once
    }

    pub(crate) fn locate(&self, at: Locality) {
        let mut state = self.state();
        state.builder.locate(at);
        state.refresh();
    }

    /// Tries what could not be bound once more; says whether something is left.
    fn retry(&self) -> bool {
        let mut state = self.state();
        state.ending.retain(|_, quic| quic.port.strong_count() > 0);
        let failed = |(address, binding): (&BindAddress, &Binding)| binding.is_err().then_some(*address);
        let failed: Vec<BindAddress> = state.bindings.iter().filter_map(failed).collect();
        for address in &failed {
            self.bind(&mut state, *address);
        }
        state.bindings.values().any(Result::is_err)
    }

    fn bind(&self, state: &mut State, address: BindAddress) {
        if state.draining {
            return;
        }
        let binding = self.open(state, address);
        let result = binding.as_ref().map(|bound| bound.local).map_err(Clone::clone);
        let known = state.bindings.get(&address).map(|known| known.as_ref().map(|bound| bound.local));
        if known != Some(result.as_ref().copied()) {
            match &result {
                Ok(local) => tracing::info!(%local, transport = %address.transport, "listening"),
                Err(error) => {
                    let real = self.real(address).map(tracing::field::display);
                    // Whoever hears the report says so, and what to do about it.
                    tracing::debug!(listener_port = address.port, address = real, %error, "cannot listen");
                }
            }
            // Nobody may be interested any more.
            let _ = state.reporter.send(Report { address, result });
        }
        state.bindings.insert(address, binding);
    }

    /// Where an address of the model is bound; none if the offset leads beyond the last port.
    fn real(&self, address: BindAddress) -> Option<SocketAddr> {
        let port = address.port.checked_add(self.shared.options.port_offset)?;
        Some(SocketAddr::new(address.ip, port))
    }

    fn open(&self, state: &mut State, address: BindAddress) -> Binding {
        let real = self.real(address).ok_or(BindFailure::PortTooHigh)?;
        let overlapped = state.bindings.iter().any(|(other, binding)| {
            let wildcard = other.ip.is_unspecified() || address.ip.is_unspecified();
            let family = other.ip.is_ipv4() == address.ip.is_ipv4();
            binding.is_ok()
                && other.port == address.port
                && other.transport == address.transport
                && family
                && wildcard
        });
        if address.transport == Transport::Udp {
            let quic = self.shared.config().ports.get(&address).is_some_and(|served| served.quic);
            let open = if quic { open_quic } else { open_datagrams };
            return open(state, address, real, overlapped);
        }
        let mut sockets = state.inherited.take(real);
        if sockets.is_empty() {
            sockets = bind_set(real, state.workers.len(), overlapped)?;
        }
        let first = sockets.first().map(TcpListener::local_addr);
        let local = first.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
        let proxy_protocol = self.shared.options.proxy_protocol_ports.contains(&address.port);
        let port = Arc::new(OpenPort::new(address, local, proxy_protocol));
        let kept = sockets.iter().map(|socket| socket.try_clone().map(OwnedFd::from));
        let kept = kept.collect::<io::Result<_>>()?;
        for (index, socket) in share(sockets, state.workers.len())? {
            if let Some(worker) = state.workers.get(index) {
                worker.tell(Command::Listen(Arc::clone(&port), socket));
            }
        }
        Ok(Bound { local, quic: None, sockets: kept })
    }

    /// The sockets that are served, for a successor.
    pub(crate) fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let state = self.state();
        let bound = state.bindings.values().flatten();
        bound.flat_map(|bound| &bound.sockets).map(OwnedFd::try_clone).collect()
    }

    /// Closes inherited sockets that no address of the configuration has taken.
    pub(crate) fn close_unclaimed(&self) {
        self.state().inherited = Inherited::default();
    }

    /// Accepts no more.
    pub(crate) fn drain(&self) {
        let mut state = self.state();
        state.draining = true;
        // Nothing is bound again, and no socket is kept open here that the workers close.
        state.bindings.clear();
        state.ending.clear();
        state.inherited = Inherited::default();
        state.workers.iter().for_each(|worker| worker.tell(Command::Drain));
    }
}

/// Whether a binding is what the model wants at its address.
fn is_for(model: &Model, (address, binding): (&BindAddress, &Binding)) -> bool {
    let quic = |port: &Port| address.transport == Transport::Udp && port.speaks_quic();
    let port = model.ports.get(address);
    port.is_some_and(|port| binding.as_ref().map_or(true, |bound| bound.quic.is_some() == quic(port)))
}

/// Gives each worker a socket for the datagrams of an address. Inherited ones are shared out as they are: a socket that
/// two workers read from would part a client's datagrams.
fn open_datagrams(state: &mut State, address: BindAddress, real: SocketAddr, overlapped: bool) -> Binding {
    let (sockets, local) = datagram_sockets(state, real, overlapped)?;
    let port = Arc::new(OpenPort::new(address, local, false));
    let kept = sockets.iter().map(|socket| socket.try_clone().map(OwnedFd::from));
    let kept = kept.collect::<io::Result<_>>()?;
    for (worker, socket) in state.workers.iter().cycle().zip(sockets) {
        worker.tell(Command::Datagrams(Arc::clone(&port), socket));
    }
    Ok(Bound { local, quic: None, sockets: kept })
}

/// Gives each worker a socket for QUIC. Workers hand over what is not theirs, so that they may share inherited ones. A
/// successor gets none: it would take the datagrams of connections that it does not know.
fn open_quic(state: &mut State, address: BindAddress, real: SocketAddr, overlapped: bool) -> Binding {
    let known = state.ending.remove(&address).and_then(|quic| Some((quic.port.upgrade()?, quic)));
    let (port, quic) = match known {
        Some(known) => known,
        None => {
            let (sockets, local) = datagram_sockets(state, real, overlapped)?;
            let port = Arc::new(OpenPort::new(address, local, false));
            let handover = Handover::between(state.workers.len());
            let quic = Quic { port: Arc::downgrade(&port), sockets, handover };
            (port, quic)
        }
    };
    for (worker, socket) in state.workers.iter().zip(quic.sockets.iter().cycle()) {
        let (port, key, handover) = (Arc::clone(&port), state.quic.clone(), quic.handover.clone());
        let socket = socket.try_clone()?;
        worker.tell(Command::Quic(Box::new(Place { port, socket, key, handover })));
    }
    Ok(Bound { local: port.local, quic: Some(quic), sockets: Vec::new() })
}

/// The sockets for the datagrams of an address, inherited ones if there are any, and where they are.
fn datagram_sockets(
    state: &mut State,
    real: SocketAddr,
    overlapped: bool,
) -> Result<(Vec<UdpSocket>, SocketAddr), BindFailure> {
    let mut sockets = state.inherited.take_datagrams(real);
    if sockets.is_empty() {
        sockets = bind_datagrams(real, state.workers.len(), overlapped)?;
    }
    let first = sockets.first().map(UdpSocket::local_addr);
    let local = first.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
    Ok((sockets, local))
}

/// The thread beside the workers: the admin endpoint, and binding again.
pub(crate) struct Controller {
    stop: Option<oneshot::Sender<()>>,
    close_admin: Mutex<Option<oneshot::Sender<()>>>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    pub(crate) fn start(control: &Arc<Control>, admin: Option<AdminSocket>) -> io::Result<Controller> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (close_admin, admin_closes) = oneshot::channel();
        let control = Arc::clone(control);
        let thread = std::thread::Builder::new().name("control".into()).spawn(move || {
            runtime.block_on(async {
                if let Some(admin) = admin {
                    tokio::spawn(admin::serve(admin, Arc::clone(&control.shared), admin_closes));
                }
                tokio::select! {
                    _ = stopped => {}
                    () = retry(&control) => {}
                }
            });
        })?;
        Ok(Controller { stop: Some(stop), close_admin: Mutex::new(Some(close_admin)), thread: Some(thread) })
    }

    /// Accepts no more at the admin address.
    pub(crate) fn close_admin(&self) {
        self.close_admin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn retry(control: &Control) {
    let (first, last) = RETRY;
    let mut pause = first;
    loop {
        tokio::time::sleep(pause).await;
        pause = if control.retry() { (pause * 2).min(last) } else { first };
    }
}
