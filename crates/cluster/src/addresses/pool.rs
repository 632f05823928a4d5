//! [`Pool`]: the addresses that may be allotted.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

/// Addresses to allot from, in order of preference (`--address-pool`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    networks: Vec<IpNet>,
}

impl Pool {
    /// A pool of these networks. A single address is a network of `/32` or `/128`.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Pool {
        Pool { networks }
    }

    /// Whether an address may be allotted.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address) && is_host(network, address))
    }

    /// Whether there are addresses of this family: a Gateway gets one of each family that there is.
    pub(super) fn has(&self, family: Family) -> bool {
        self.networks.iter().any(|network| Family::of(network.addr()) == family)
    }

    /// Addresses of a family that are not in use, the lowest first. `used` is asked at each step, so that it may
    /// grow in between.
    pub(super) fn hosts(&self, family: Family) -> impl Iterator<Item = IpAddr> + use<'_> {
        let networks = self.networks.iter().filter(move |network| Family::of(network.addr()) == family);
        networks.flat_map(|network| network.hosts().filter(move |address| is_host(network, *address)))
    }
}

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const ALL: [Family; 2] = [Family::V4, Family::V6];

    pub(super) fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }
}

/// A network's own address and IPv4's broadcast address are no host's, except where the network has no room for
/// them (RFC 3021, RFC 6164).
fn is_host(network: &IpNet, address: IpAddr) -> bool {
    match network {
        IpNet::V4(network) if network.prefix_len() < 31 => {
            address != network.network() && address != network.broadcast()
        }
        IpNet::V6(network) if network.prefix_len() < 127 => address != network.network(),
        IpNet::V4(_) | IpNet::V6(_) => true,
    }
}

/// Takes the lowest address that is not in use, and notes that it is.
pub(super) fn take(hosts: &mut impl Iterator<Item = IpAddr>, used: &mut BTreeSet<IpAddr>) -> Option<IpAddr> {
    hosts.find(|address| used.insert(*address))
}
