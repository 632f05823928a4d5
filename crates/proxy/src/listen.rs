//! Listening sockets: one set per address and port, a socket of it for every worker.

pub(crate) mod accept;
pub(crate) mod bind;
pub(crate) mod inherited;
pub(crate) mod proxy_protocol;
pub(crate) mod scarcity;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis_model::BindAddress;

/// An address and port that is bound, shared by all workers.
#[derive(Debug)]
pub(crate) struct OpenPort {
    /// As the model names it.
    pub(crate) address: BindAddress,
    /// As the system has it.
    pub(crate) local: SocketAddr,
    /// Clients begin with a PROXY header.
    pub(crate) proxy_protocol: bool,
    connections: AtomicUsize,
}

/// One of a port's connections.
pub(crate) struct ConnectionSlot(std::sync::Arc<OpenPort>);

impl OpenPort {
    pub(crate) fn new(address: BindAddress, local: SocketAddr, proxy_protocol: bool) -> OpenPort {
        OpenPort { address, local, proxy_protocol, connections: AtomicUsize::new(0) }
    }

    /// Takes one of `limit` connections, if one is left.
    pub(crate) fn admit(self: &std::sync::Arc<OpenPort>, limit: usize) -> Option<ConnectionSlot> {
        let slot = ConnectionSlot(std::sync::Arc::clone(self));
        let before = self.connections.fetch_add(1, Ordering::Relaxed);
        (before < limit).then_some(slot)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_port_admits_as_many_connections_as_its_limit_and_again_when_one_ends() {
        let address = BindAddress::tcp(Ipv4Addr::LOCALHOST.into(), 80);
        let port = Arc::new(OpenPort::new(address, SocketAddr::from(([127, 0, 0, 1], 80)), false));
        let (one, two) = (port.admit(2), port.admit(2));
        assert!(one.is_some() && two.is_some());
        assert!(port.admit(2).is_none());
        drop(one);
        assert!(port.admit(2).is_some());
    }
}
