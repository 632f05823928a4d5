//! Listeners: what answers at a port.

use std::fmt;
use std::sync::Arc;

use crate::{
    Certificate, HostPattern, L4Route, L4Routes, ListenerFilters, Origin, Route, TlsServer, Transport,
};

/// What is served at one address and port over one transport: listeners that share it, told apart by protocol and
/// hostname.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// All accepted listeners of the port, in merged order. No two share protocol and hostname. A port of UDP that has
    /// one for HTTP/3 is also the port of TCP of that number: all its listeners keep their hosts from broader ones.
    pub listeners: Vec<Arc<Listener>>,
}

impl Port {
    /// Whether HTTP/3 is served at this port number.
    #[must_use]
    pub fn speaks_quic(&self) -> bool {
        self.listeners.iter().any(|listener| matches!(listener.protocol, ListenerProtocol::Http3(_)))
    }
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
    /// What is done with every request before a rule is looked for; only with HTTP inside.
    pub filters: ListenerFilters,
    /// The certificate that its Gateway shows to backends to which TLS is spoken.
    pub client_certificate: Option<Arc<Certificate>>,
    /// The routes for requests that are attached to it, in no particular order. Those of the protocols below HTTP are
    /// with the protocol.
    pub routes: Vec<Arc<Route>>,
    /// The GRPCRoutes attached to it, in no particular order. gRPC calls try these first; nothing else does.
    pub grpc_routes: Vec<Arc<Route>>,
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
    /// HTTP/3 over QUIC, and at the same port number over TCP what [`ListenerProtocol::Https`] is.
    Http3(Option<Arc<TlsServer>>),
    /// TLS that is ended here, as HTTPS is; what is inside goes to the backends of the route that the server name
    /// chooses, as it is.
    TlsTerminate(Option<Arc<TlsServer>>, L4Routes),
    /// TLS that is ended by the backends of the route that the server name chooses.
    TlsPassthrough(L4Routes),
    /// Connections, as they are.
    Tcp(L4Routes),
    /// Datagrams, as they are.
    Udp(L4Routes),
}

impl ListenerProtocol {
    /// The name that listeners give it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            ListenerProtocol::Http => "HTTP",
            ListenerProtocol::Https(_) => "HTTPS",
            ListenerProtocol::Http3(_) => "microgateway.airlock.com/http3",
            ListenerProtocol::TlsTerminate(..) | ListenerProtocol::TlsPassthrough(_) => "TLS",
            ListenerProtocol::Tcp(_) => "TCP",
            ListenerProtocol::Udp(_) => "UDP",
        }
    }

    /// What carries it.
    #[must_use]
    pub fn transports(&self) -> &'static [Transport] {
        match self {
            ListenerProtocol::Udp(_) => &[Transport::Udp],
            ListenerProtocol::Http3(_) => &[Transport::Tcp, Transport::Udp],
            _ => &[Transport::Tcp],
        }
    }

    /// The routes of a protocol below HTTP; none for HTTP.
    #[must_use]
    pub fn l4_routes(&self) -> &[Arc<L4Route>] {
        match self {
            ListenerProtocol::Http | ListenerProtocol::Https(_) | ListenerProtocol::Http3(_) => &[],
            ListenerProtocol::TlsTerminate(_, routes)
            | ListenerProtocol::TlsPassthrough(routes)
            | ListenerProtocol::Tcp(routes)
            | ListenerProtocol::Udp(routes) => routes,
        }
    }

    /// How TLS is ended, where it is and a certificate can be used.
    #[must_use]
    pub fn tls(&self) -> Option<&Arc<TlsServer>> {
        match self {
            ListenerProtocol::Https(server)
            | ListenerProtocol::Http3(server)
            | ListenerProtocol::TlsTerminate(server, _) => server.as_ref(),
            _ => None,
        }
    }
}
