//! Addresses of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;

/// Where Gateways that ask for no address are served: where `--bind` says, or everywhere.
pub(crate) fn default_addresses(bind: &[IpAddr]) -> Arc<[IpAddr]> {
    if !bind.is_empty() {
        return bind.into();
    }
    let everywhere = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    // A machine without IPv6 has no IPv6 address to fail on.
    everywhere.into_iter().filter(|ip| TcpListener::bind((*ip, 0)).is_ok()).collect()
}

/// Where this machine finds what listens at an address: what listens everywhere, at loopback.
pub(crate) fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_everywhere_is_found_at_loopback() {
        assert_eq!(reachable(Ipv4Addr::UNSPECIFIED.into()), IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(reachable(Ipv6Addr::UNSPECIFIED.into()), IpAddr::from(Ipv6Addr::LOCALHOST));
        let one = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(reachable(one), one);
    }

    #[test]
    fn bind_says_where_and_without_it_everywhere_is_meant() {
        let one = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(*default_addresses(&[one]), [one]);
        assert!(default_addresses(&[]).contains(&Ipv4Addr::UNSPECIFIED.into()));
    }
}
