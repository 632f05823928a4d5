//! Free ports.

use std::net::{Ipv4Addr, TcpListener};

/// A port of loopback that nobody holds just now.
#[must_use]
pub fn free() -> u16 {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    socket.local_addr().expect("a bound socket has an address").port()
}

/// An offset by which all of these ports are free.
#[must_use]
pub fn free_offset(ports: &[u16]) -> u16 {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    (0..200)
        .map(|_| free() / 2 + 8_000)
        .find(|offset| ports.iter().all(|port| port.checked_add(*offset).is_some_and(is_free)))
        .expect("some offset is free")
}
