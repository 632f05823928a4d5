//! Binding: a set of SO_REUSEPORT sockets, after making sure that nobody else holds the port.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel completes ahead of accepting; it caps this at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// Datagrams that wait for their worker, in bytes; the kernel caps this at `net.core.rmem_max`.
const DATAGRAM_BUFFER: usize = 4 << 20;

/// Why an address cannot be bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindFailure {
    /// Another process, or another socket of this one, has it.
    #[error("the port is in use")]
    InUse,
    /// The process lacks the permission, as for ports below 1024.
    #[error("no permission to bind the port")]
    NoPermission,
    /// The address belongs to no interface of this host.
    #[error("the address is not local")]
    NotLocal,
    /// With the offset there is no such port.
    #[error("the port and the offset add up to more than 65535")]
    PortTooHigh,
    /// Anything else, in the system's words.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for BindFailure {
    fn from(error: io::Error) -> BindFailure {
        match error.kind() {
            io::ErrorKind::AddrInUse => BindFailure::InUse,
            io::ErrorKind::PermissionDenied => BindFailure::NoPermission,
            io::ErrorKind::AddrNotAvailable => BindFailure::NotLocal,
            _ => BindFailure::Other(error.to_string()),
        }
    }
}

/// Binds as many sockets to an address as there are workers.
///
/// Processes that both set SO_REUSEPORT share a port without a word, so unless a socket of ours overlaps the address
/// (`overlapped`: a wildcard and a specific address of one port) it is first bound without that option, which fails
/// exactly when somebody else has it.
pub(crate) fn bind_set(
    address: SocketAddr,
    workers: usize,
    overlapped: bool,
) -> Result<Vec<TcpListener>, BindFailure> {
    let mut address = address;
    if !overlapped {
        let probe = open(address)?;
        probe.bind(&address.into())?;
    }
    let mut sockets = Vec::with_capacity(workers);
    for _ in 0..workers {
        let socket = open(address)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        if let Some(bound) = socket.local_addr()?.as_socket() {
            address = bound; // port 0: the others share what the first was given
        }
        sockets.push(socket);
    }
    // None listens before all are bound, so that a failure half-way has taken no connection.
    for socket in &sockets {
        socket.listen(BACKLOG)?;
    }
    Ok(sockets.into_iter().map(TcpListener::from).collect())
}

/// The same for datagrams: the kernel gives those of one client to one of the sockets.
pub(crate) fn bind_datagrams(
    address: SocketAddr,
    workers: usize,
    overlapped: bool,
) -> Result<Vec<UdpSocket>, BindFailure> {
    let mut address = address;
    if !overlapped {
        open_datagrams(address)?.bind(&address.into())?;
    }
    let mut sockets = Vec::with_capacity(workers);
    for _ in 0..workers {
        let socket = open_datagrams(address)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        if let Some(bound) = socket.local_addr()?.as_socket() {
            address = bound;
        }
        sockets.push(socket.into());
    }
    Ok(sockets)
}

/// Without SO_REUSEADDR, which for UDP would share the port with anybody who sets it too.
fn open_datagrams(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.set_recv_buffer_size(DATAGRAM_BUFFER)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?; // restarts do not wait for TIME_WAIT
    socket.set_tcp_nodelay(true)?; // accepted connections inherit it
    if address.is_ipv6() {
        socket.set_only_v6(true)?; // the model names each family by itself
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[test]
    fn the_sockets_of_a_set_share_one_port() {
        let sockets = bind_set(loopback(), 3, false).unwrap();
        let ports: Vec<_> = sockets.iter().map(|socket| socket.local_addr().unwrap()).collect();
        assert_eq!(ports.len(), 3);
        assert!(ports.iter().all(|port| *port == ports[0]));
    }

    #[test]
    fn a_port_that_another_shares_willingly_is_still_in_use() {
        let foreign = open(loopback()).unwrap();
        foreign.set_reuse_port(true).unwrap();
        foreign.bind(&loopback().into()).unwrap();
        foreign.listen(1).unwrap();
        let address = foreign.local_addr().unwrap().as_socket().unwrap();
        assert_eq!(bind_set(address, 1, false).unwrap_err(), BindFailure::InUse);
    }

    #[test]
    fn an_address_of_another_host_is_not_local() {
        let elsewhere = SocketAddr::from(([192, 0, 2, 1], 0));
        assert_eq!(bind_set(elsewhere, 1, false).unwrap_err(), BindFailure::NotLocal);
    }
}
