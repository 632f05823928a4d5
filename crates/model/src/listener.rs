//! Listeners: what answers at a port.

use std::fmt;
use std::sync::Arc;

use crate::{Certificate, HostPattern, Origin, Route, TlsServer};

/// What is served at one address and port: listeners that share it, told apart by protocol and hostname.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// All accepted listeners of the port, in merged order. No two share protocol and hostname.
    pub listeners: Vec<Arc<Listener>>,
}

/// A listener that was accepted. It takes the requests for which its hostname is the most specific of the
/// port's listeners of its protocol, even if it then fails them (GatewayHTTPListenerIsolation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Which listener this is.
    pub id: ListenerId,
    /// The port it was asked for, before any offset of the engine: redirects name it.
    pub port: u16,
    /// The hosts it takes.
    pub hostname: HostPattern,
    /// What it speaks.
    pub protocol: ListenerProtocol,
    /// The certificate that its Gateway shows to backends to which TLS is spoken.
    pub client_certificate: Option<Arc<Certificate>>,
    /// The HTTPRoutes attached to it, in no particular order.
    pub routes: Vec<Arc<Route>>,
}

/// Names a listener.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId {
    /// The Gateway it belongs to, by itself or through a ListenerSet.
    pub gateway: Origin,
    /// The Gateway or ListenerSet that defines it.
    pub owner: Origin,
    /// Its name there.
    pub name: Arc<str>,
}

impl fmt::Display for ListenerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// What a listener speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerProtocol {
    /// HTTP/1.1 and HTTP/2 by prior knowledge, in clear.
    Http,
    /// HTTP over TLS. Without a usable certificate (`None`) its handshakes fail, and it still keeps its
    /// hostname from broader listeners.
    Https(Option<Arc<TlsServer>>),
}
