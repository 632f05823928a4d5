//! What is known of a connection or flow below HTTP when it ends: the one source of its metrics and its log line.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use portcullis_model::{L4Route, Listener};

use crate::reason::Reason;
use crate::upstream::LocalTarget;
use crate::worker::Worker;

/// What sort of thing is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Session {
    /// A TCP connection.
    Tcp,
    /// A TLS connection, ended here or passed through.
    Tls,
    /// The datagrams of one client.
    Udp,
}

impl Session {
    pub(crate) const ALL: [Session; 3] = [Session::Tcp, Session::Tls, Session::Udp];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Session::Tcp => "tcp",
            Session::Tls => "tls",
            Session::Udp => "udp",
        }
    }
}

/// A connection or flow under way.
pub(crate) struct SessionRecord {
    pub(crate) started: Instant,
    pub(crate) session: Session,
    pub(crate) client: SocketAddr,
    pub(crate) listener: Arc<Listener>,
    /// What the client asked for in its TLS handshake.
    pub(crate) server_name: Option<String>,
    pub(crate) route: Option<Arc<L4Route>>,
    pub(crate) endpoint: Option<Rc<LocalTarget>>,
    pub(crate) attempts: u32,
    pub(crate) reason: Reason,
    /// Bytes from the client.
    pub(crate) received: u64,
    /// Bytes to it.
    pub(crate) sent: u64,
}

impl SessionRecord {
    pub(crate) fn new(session: Session, client: SocketAddr, listener: Arc<Listener>) -> SessionRecord {
        SessionRecord {
            started: Instant::now(),
            session,
            client,
            listener,
            server_name: None,
            route: None,
            endpoint: None,
            attempts: 0,
            reason: Reason::Ok,
            received: 0,
            sent: 0,
        }
    }

    /// Counts and logs what has ended.
    pub(crate) fn end(&self, worker: &Worker) {
        worker.metrics.session(self.session, self.reason, self.received, self.sent);
        if let Some(log) = &worker.shared.access_log {
            log.write_session(self);
        }
    }

    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_ref().map(|endpoint| endpoint.target.label.as_str())
    }
}
