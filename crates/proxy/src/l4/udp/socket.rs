//! The socket of a UDP listener: answers leave from the address that was asked, also where it has every address of the
//! machine.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd;

use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Whose datagrams they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) client: SocketAddr,
    /// The address that it has sent to, where the socket has more than one.
    asked: Option<IpAddr>,
}

pub(super) struct Socket {
    socket: UdpSocket,
    /// The socket has every address; room for what the kernel says of one datagram's (`IP_PKTINFO`).
    control: Option<RefCell<Vec<u8>>>,
}

impl Socket {
    pub(super) fn new(socket: std::net::UdpSocket) -> io::Result<Socket> {
        let local = socket.local_addr()?;
        let control = if local.ip().is_unspecified() {
            match local {
                SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?,
                SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?,
            }
            Some(RefCell::new(nix::cmsg_space!(in6_pktinfo)))
        } else {
            None
        };
        Ok(Socket { socket: UdpSocket::from_std(socket)?, control })
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// A datagram that has come.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Peer)> {
        let Some(control) = &self.control else {
            let (length, client) = self.socket.try_recv_from(buffer)?;
            return Ok((length, Peer { client, asked: None }));
        };
        self.socket.try_io(Interest::READABLE, || {
            let mut control = control.borrow_mut();
            let mut into = [IoSliceMut::new(buffer)];
            let fd = self.socket.as_raw_fd();
            let flags = MsgFlags::MSG_DONTWAIT;
            let received = recvmsg::<SockaddrStorage>(fd, &mut into, Some(control.as_mut_slice()), flags)?;
            let client = received.address.as_ref().and_then(address).ok_or(io::ErrorKind::InvalidData)?;
            let asked = received.cmsgs()?.find_map(|message| match message {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    Some(IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes()))
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => Some(IpAddr::from(info.ipi6_addr.s6_addr)),
                _ => None,
            });
            Ok((received.bytes, Peer { client, asked }))
        })
    }

    /// Sends an answer; waits for room if there is none.
    pub(super) async fn send(&self, datagram: &[u8], peer: Peer) -> io::Result<()> {
        loop {
            match self.try_send(datagram, peer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.socket.writable().await?,
                sent => return sent,
            }
        }
    }

    /// Sends an answer if there is room for it.
    pub(super) fn try_send(&self, datagram: &[u8], peer: Peer) -> io::Result<()> {
        let Some(asked) = peer.asked else {
            return self.socket.try_send_to(datagram, peer.client).map(drop);
        };
        let (v4, v6) = (from_v4(asked), from_v6(asked, &peer.client));
        let control = v4.as_ref().map(ControlMessage::Ipv4PacketInfo);
        let control = control.or(v6.as_ref().map(ControlMessage::Ipv6PacketInfo));
        self.socket.try_io(Interest::WRITABLE, || {
            let to = SockaddrStorage::from(peer.client);
            let control: Vec<ControlMessage<'_>> = control.into_iter().collect();
            let fd = self.socket.as_raw_fd();
            sendmsg(fd, &[IoSlice::new(datagram)], &control, MsgFlags::MSG_DONTWAIT, Some(&to))?;
            Ok(())
        })
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddrV4::from(*address).into());
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddrV6::from(*address).into()))
}

fn from_v4(asked: IpAddr) -> Option<in_pktinfo> {
    let IpAddr::V4(asked) = asked else { return None };
    let source = in_addr { s_addr: u32::from_ne_bytes(asked.octets()) };
    Some(in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: source })
}

/// A link-local client is reached over its own link alone.
fn from_v6(asked: IpAddr, client: &SocketAddr) -> Option<in6_pktinfo> {
    let IpAddr::V6(asked) = asked else { return None };
    let link = match client {
        SocketAddr::V6(client) => client.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    Some(in6_pktinfo { ipi6_addr: in6_addr { s6_addr: asked.octets() }, ipi6_ifindex: link })
}
