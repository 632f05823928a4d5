//! The addresses of the node that we run on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses that lead nowhere, one of each family (RFC 5737, RFC 3849): what reaches them takes the default route.
const ELSEWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

/// The node's addresses, one of each family, where it has a default route of the family.
///
/// In a pod of the host's network that is `status.hostIPs`. No packet is sent.
#[must_use]
pub fn node_addresses() -> Vec<IpAddr> {
    ELSEWHERE.into_iter().filter_map(source_towards).collect()
}

fn source_towards(elsewhere: IpAddr) -> Option<IpAddr> {
    let any: IpAddr =
        if elsewhere.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(elsewhere, 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}
