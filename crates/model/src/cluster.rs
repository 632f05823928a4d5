//! Backends: how they are spoken to and where their instances are.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::{Hints, Hostname, Origin, Transport, UpstreamTls};

/// Names a [`Cluster`]: a backend as it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    /// Whose instances it leads to.
    pub endpoints: EndpointsKey,
    /// How they are spoken to.
    pub protocol: UpstreamProtocol,
}

/// Names a set of [`Endpoints`]: a backend object and a port of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointsKey {
    /// The Service or Backend.
    pub origin: Origin,
    /// The Service's port; 0 for a Backend, whose endpoints carry their own.
    pub port: u16,
    /// What carries it: a Service may have one port number for both.
    pub transport: Transport,
}

impl fmt::Display for EndpointsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if self.port != 0 {
            write!(f, ":{}", self.port)?;
        }
        match self.transport {
            Transport::Tcp => Ok(()),
            Transport::Udp => write!(f, "/udp"),
        }
    }
}

/// A protocol spoken to backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpstreamProtocol {
    /// HTTP/1.1 in clear; over TLS that, or HTTP/2 where the endpoint takes it (ALPN).
    Http1,
    /// HTTP/2 alone: in clear by prior knowledge (`kubernetes.io/h2c`), over TLS by ALPN.
    Http2,
    /// Whatever comes over a connection, as it is.
    Tcp,
    /// The client's own TLS, as it is: nothing is added to it.
    Tls,
    /// Datagrams, as they are.
    Udp,
}

/// A backend as it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub key: ClusterKey,
    /// How TLS is spoken to it; nothing is in clear.
    pub tls: Option<Arc<UpstreamTls>>,
}

/// The instances of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Whose they are.
    pub key: EndpointsKey,
    /// Sorted by address, without duplicates.
    pub endpoints: Vec<Endpoint>,
}

/// An instance of a backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Where it listens.
    pub address: EndpointAddress,
    /// Whether it takes requests.
    pub state: EndpointState,
    /// For whom it is meant.
    pub hints: Hints,
}

/// Where an instance listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointAddress {
    /// An address and port.
    Socket(SocketAddr),
    /// A name to be resolved, again when its answer's time to live ends.
    Name {
        /// The name.
        hostname: Hostname,
        /// The port.
        port: u16,
    },
    /// A socket of this machine's file system.
    Unix(Arc<str>),
}

/// Whether an instance takes requests. While none is ready, draining ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointState {
    /// It does.
    Ready,
    /// It is ending but still serves.
    Draining,
}

impl fmt::Display for EndpointAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndpointAddress::Socket(address) => address.fmt(f),
            EndpointAddress::Name { hostname, port } => write!(f, "{}:{port}", hostname.as_str()),
            EndpointAddress::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

impl Endpoint {
    /// One that is ready and meant for everybody.
    #[must_use]
    pub fn ready(address: EndpointAddress) -> Endpoint {
        Endpoint { address, state: EndpointState::Ready, hints: Hints::default() }
    }
}
