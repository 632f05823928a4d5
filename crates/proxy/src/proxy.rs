//! Starting, configuring and stopping a proxy.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis_model::{BindAddress, Locality, Model};

use crate::control::{Control, Controller};
use crate::listen::bind::BindFailure;
use crate::listen::inherited::Inherited;
use crate::options::{Drain, ProxyOptions};
use crate::shared::{Phase, Shared};
use crate::telemetry::{AccessLog, admin};

/// How often the end of the last connection is looked for while draining.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// The native data plane.
pub struct Proxy;

/// A running proxy. It ends at once when this is dropped; [`ProxyHandle::drain`] before that lets it end in peace.
pub struct ProxyHandle {
    shared: Arc<Shared>,
    control: Arc<Control>,
    admin: Option<SocketAddr>,
    /// A handle on the admin endpoint's socket, for a successor.
    admin_socket: Mutex<Option<TcpListener>>,
    controller: Controller,
}

/// What became of an address that the model names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// As the model names it.
    pub address: BindAddress,
    /// Where connections are accepted, or why they are not. A failed bind is tried again, and reported again when
    /// its result changes.
    pub result: Result<SocketAddr, BindFailure>,
}

/// Why a proxy did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The admin address cannot be bound.
    #[error("the admin address {0} cannot be bound: {1}")]
    Admin(SocketAddr, io::Error),
    /// The access log cannot be opened.
    #[error("the access log {0} cannot be opened: {1}")]
    AccessLog(PathBuf, io::Error),
    /// A thread or its runtime cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] io::Error),
}

impl Proxy {
    /// Starts the threads of a proxy; it serves nothing until [`ProxyHandle::apply`].
    ///
    /// What becomes of the addresses of each model comes through the channel, in order, as it becomes known; the
    /// channel ends with the proxy. Addresses whose sockets are inherited are not bound.
    ///
    /// # Errors
    /// When the admin address or the access log cannot be had, or the system gives no threads.
    pub fn start(
        mut options: ProxyOptions,
        mut inherited: Inherited,
    ) -> Result<(ProxyHandle, Receiver<Report>), StartError> {
        options.workers = options.workers.max(1);
        raise_descriptor_limit();
        let admin = options.admin.map(|address| admin::bind(address, &mut inherited)).transpose()?;
        let local = admin.as_ref().map(admin::AdminSocket::local);
        options.admin = local;
        let access_log = options.access_log.as_ref().map(AccessLog::open).transpose()?;
        let shared = Arc::new(Shared::new(options, access_log));
        let (reporter, reports): (Sender<Report>, _) = channel();
        let control = Arc::new(Control::start(&shared, inherited, reporter)?);
        let admin_socket = Mutex::new(admin.as_ref().map(admin::AdminSocket::handle).transpose()?);
        let controller = Controller::start(&control, admin)?;
        Ok((ProxyHandle { shared, control, admin: local, admin_socket, controller }, reports))
    }
}

impl ProxyHandle {
    /// Serves a model from now on. Tables are built on the calling thread and swapped in place; open connections
    /// notice nothing. Addresses that are new are bound before this returns, and reported; ports that are gone are
    /// closed.
    pub fn apply(&self, model: &Arc<Model>) {
        self.control.apply(model);
    }

    /// Prefers the endpoints that are meant for a proxy that stands there, from now on.
    pub fn locate(&self, at: Locality) {
        self.control.locate(at);
    }

    /// Where the admin endpoint listens.
    #[must_use]
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// Handles on all sockets of listeners and on the admin endpoint's, for a process that is to take over. Both may
    /// accept and receive at them.
    ///
    /// # Errors
    /// When the system gives no descriptors.
    pub fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let mut sockets = self.control.sockets()?;
        let admin = self.admin_socket.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.extend(admin.as_ref().map(TcpListener::try_clone).transpose()?.map(OwnedFd::from));
        Ok(sockets)
    }

    /// Closes inherited sockets that no listener has taken: clients would connect to them and wait in vain.
    pub fn close_unclaimed(&self) {
        self.control.close_unclaimed();
    }

    /// Leaves to a successor, which serves by now, what two cannot share: the admin address, and the datagrams of
    /// clients. Flows go on as long as their endpoints answer; what their clients say from now on begins others there.
    pub fn leave(&self) {
        self.shared.leave();
        self.controller.close_admin();
        self.admin_socket.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Opens the file of the access log anew, after it was moved away; false if there is no such file.
    ///
    /// # Errors
    /// When it cannot be opened; the one that was open before is then still written to.
    pub fn reopen_access_log(&self) -> io::Result<bool> {
        self.shared.access_log.as_ref().map_or(Ok(false), AccessLog::reopen)
    }

    /// Connections of clients that are open.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.shared.open_connections()
    }

    /// Ends in peace: says that it is not ready, goes on accepting for `delay`, then ends what is open, for
    /// `timeout` at most. Blocks until then; true if nothing had to be cut. Dropping the handle cuts it short.
    pub fn drain(&self, drain: Drain) -> bool {
        self.shared.advance(Phase::Leaving);
        std::thread::sleep(drain.delay);
        self.shared.advance(Phase::Draining);
        self.control.drain();
        let deadline = Instant::now() + drain.timeout;
        while self.shared.open_connections() > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(DRAIN_POLL);
        }
        true
    }
}

/// Each connection is a descriptor, and the usual soft limit is there for programs that use select.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of file descriptors stays as it was");
    }
}
