//! What stands for a UDP port: it says back what it is told (RFC 862).

use std::net::SocketAddr;

use tokio::net::UdpSocket;

use crate::exit::Failure;

/// The largest datagram, in bytes.
const DATAGRAM: usize = 65_535;

/// Takes an address.
pub(super) async fn bind(address: SocketAddr) -> Result<UdpSocket, Failure> {
    UdpSocket::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot receive at {address}: {error}")).hint("choose another address")
    })
}

/// Answers each datagram with itself, until dropped.
pub(super) async fn serve(socket: UdpSocket) {
    let mut buffer = vec![0; DATAGRAM];
    while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
        // Who cannot be answered has asked in vain, as with any datagram.
        let _ = socket.send_to(buffer.get(..length).unwrap_or_default(), client).await;
    }
}
