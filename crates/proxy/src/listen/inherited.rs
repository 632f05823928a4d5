//! Listening sockets that somebody else has opened: a service manager, or the process that this one takes over from.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use hashbrown::HashMap;
use socket2::{SockRef, Type};

/// Sockets that a proxy is given at its start. It takes them for the addresses of its configuration instead of
/// binding; the others wait for a configuration that names their address.
#[derive(Debug, Default)]
pub struct Inherited {
    listeners: BySocket<TcpListener>,
    datagrams: BySocket<UdpSocket>,
}

type BySocket<S> = HashMap<SocketAddr, Vec<S>, foldhash::fast::RandomState>;

impl Inherited {
    /// Takes sockets over as they are: of TCP, bound and listening, or of UDP, bound.
    ///
    /// # Errors
    /// When one is no such socket.
    pub fn new(sockets: impl IntoIterator<Item = OwnedFd>) -> io::Result<Inherited> {
        let mut inherited = Inherited::default();
        for socket in sockets {
            let kind = SockRef::from(&socket);
            kind.set_nonblocking(true)?;
            match kind.r#type()? {
                Type::STREAM => {
                    kind.set_tcp_nodelay(true)?; // accepted connections inherit it
                    let listener = TcpListener::from(socket);
                    inherited.listeners.entry(listener.local_addr()?).or_default().push(listener);
                }
                Type::DGRAM => {
                    let socket = UdpSocket::from(socket);
                    inherited.datagrams.entry(socket.local_addr()?).or_default().push(socket);
                }
                _ => return Err(io::ErrorKind::Unsupported.into()),
            }
        }
        Ok(inherited)
    }

    /// The listening sockets of an address, if it has any, once.
    pub(crate) fn take(&mut self, address: SocketAddr) -> Vec<TcpListener> {
        self.listeners.remove(&address).unwrap_or_default()
    }

    /// The same for datagrams.
    pub(crate) fn take_datagrams(&mut self, address: SocketAddr) -> Vec<UdpSocket> {
        self.datagrams.remove(&address).unwrap_or_default()
    }
}

/// Gives every worker a socket, and every socket a worker: connections would wait for ever at a socket that nobody
/// accepts at. A pair is a worker's index and its socket.
pub(crate) fn share(sockets: Vec<TcpListener>, workers: usize) -> io::Result<Vec<(usize, TcpListener)>> {
    let copies = (sockets.len()..workers).map(|index| match sockets.get(index % sockets.len().max(1)) {
        Some(socket) => socket.try_clone(),
        None => Err(io::ErrorKind::NotFound.into()),
    });
    let copies = copies.collect::<io::Result<Vec<_>>>()?;
    let all = sockets.into_iter().chain(copies).enumerate();
    Ok(all.map(|(index, socket)| (index % workers.max(1), socket)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners(number: usize) -> Vec<TcpListener> {
        (0..number).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect()
    }

    #[test]
    fn sockets_are_found_by_their_address_once() {
        let sockets = listeners(2);
        let addresses: Vec<SocketAddr> = sockets.iter().map(|socket| socket.local_addr().unwrap()).collect();
        let datagrams = UdpSocket::bind(addresses[1]).unwrap();
        let sockets = sockets.into_iter().map(OwnedFd::from).chain([datagrams.into()]);
        let mut inherited = Inherited::new(sockets).unwrap();
        assert_eq!(inherited.take(addresses[1]).len(), 1);
        assert_eq!(inherited.take(addresses[1]).len(), 0);
        assert_eq!(inherited.take(addresses[0]).len(), 1);
        assert_eq!(inherited.take_datagrams(addresses[0]).len(), 0);
        assert_eq!(inherited.take_datagrams(addresses[1]).len(), 1);
    }

    /// A new binary may have more or fewer workers than the old one had.
    #[test]
    fn no_socket_and_no_worker_is_left_out() {
        for (sockets, workers, expected) in
            [(1, 3, vec![0, 1, 2]), (2, 2, vec![0, 1]), (3, 2, vec![0, 1, 0]), (2, 3, vec![0, 1, 2])]
        {
            let shared = share(listeners(sockets), workers).unwrap();
            assert_eq!(shared.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), expected);
        }
        assert_eq!(share(Vec::new(), 0).unwrap().len(), 0);
    }
}
