//! [`UpstreamScope`].

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

/// Where backends may be.
///
/// Whoever writes a file may lead to any address. In a cluster, who may write a `Backend` or an EndpointSlice in a
/// namespace must not get at what only this machine can reach: its loopback, its sockets, the metadata service of
/// its cloud (CVE-2021-25740 is of this kind).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UpstreamScope {
    /// Anywhere.
    #[default]
    Anywhere,
    /// Nowhere on this machine or its link, unless it is allowed.
    Network {
        /// Networks that are allowed all the same.
        allowed: Arc<[IpNet]>,
        /// Whether sockets of this machine's file system are allowed.
        unix: bool,
    },
}

/// The instance metadata service of EC2 over IPv6: a unique local address, not a link-local one.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

impl UpstreamScope {
    /// Whether a backend may be at an address; for names, each address that they resolve to is asked about.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        let Self::Network { allowed, .. } = self else { return true };
        // An IPv4 address written as an IPv6 one is the same place.
        let address = address.to_canonical();
        !is_local(address) || allowed.iter().any(|network| network.contains(&address))
    }

    /// Whether a backend may be a socket of this machine's file system.
    #[must_use]
    pub fn admits_unix(&self) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Network { unix, .. } => *unix,
        }
    }
}

/// Whether an address means this machine or its link, or no single machine at all.
fn is_local(address: IpAddr) -> bool {
    let link = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast() || address.octets()[0] == 0,
        IpAddr::V6(address) => address.is_unicast_link_local() || address == METADATA_V6,
    };
    link || address.is_loopback() || address.is_unspecified() || address.is_multicast()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(allowed: &[&str], unix: bool) -> UpstreamScope {
        UpstreamScope::Network { allowed: allowed.iter().map(|net| net.parse().unwrap()).collect(), unix }
    }

    fn admits(scope: &UpstreamScope, address: &str) -> bool {
        scope.admits(address.parse().unwrap())
    }

    #[test]
    fn this_machine_and_its_link_are_no_backends_of_a_cluster() {
        let scope = network(&[], false);
        for outside in ["10.244.0.7", "192.168.1.1", "203.0.113.9", "fd00::7", "2001:db8::1"] {
            assert!(admits(&scope, outside), "{outside}");
        }
        for local in [
            "127.0.0.1",
            "127.8.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
        ] {
            assert!(!admits(&scope, local), "{local}");
            assert!(admits(&UpstreamScope::Anywhere, local), "{local}");
        }
        assert!(!scope.admits_unix());
    }

    #[test]
    fn what_is_allowed_is_allowed_alone() {
        let scope = network(&["127.0.0.0/8"], true);
        assert!(admits(&scope, "127.0.0.1") && admits(&scope, "::ffff:127.0.0.1") && scope.admits_unix());
        assert!(!admits(&scope, "::1") && !admits(&scope, "169.254.169.254"));
    }
}
