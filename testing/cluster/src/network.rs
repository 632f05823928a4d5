//! A cluster's network: a namespace of its own, that the machine reaches through one link.
//!
//! | range (cluster number N of 0 to 15) | what |
//! |---|---|
//! | 10.97.0.(4N)/30 | the link: .1 the machine, .2 the cluster, where the API server listens |
//! | 10.244.(16N).0/20 | pods, behind the bridge [`BRIDGE`] |
//! | 10.98.(16N).0/20 | addresses for Gateways: a local route, so that any of them can be bound |
//! | 10.96.0.0/16 | Services' cluster addresses, which lead nowhere: there is no kube-proxy |
//!
//! There is no way out to other networks.

use std::{net::Ipv4Addr, process::Command};

use ipnet::Ipv4Net;

use crate::{Error, programs};

/// The bridge of the pods, in a cluster's namespace.
pub const BRIDGE: &str = "pods";

/// How many clusters there are addresses for.
const CLUSTERS: u8 = 16;

/// A cluster's network namespace.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    number: u8,
}

impl Network {
    /// Makes the namespace of the first free number, and its links.
    ///
    /// # Errors
    /// When no number is free, or the kernel refuses.
    pub(crate) fn create() -> Result<Self, Error> {
        let taken = names()?;
        let free = (0..CLUSTERS).map(Self::numbered).find(|network| !taken.contains(&network.name()));
        let network = free.ok_or(Error::Full(CLUSTERS))?;
        ip(&["netns", "add", &network.name()])?;
        if let Err(error) = network.link() {
            // The first failure is the one to tell.
            let _ = network.remove();
            return Err(error);
        }
        Ok(network)
    }

    /// The namespaces of all clusters there are.
    pub(crate) fn all() -> Result<Vec<Self>, Error> {
        let taken = names()?;
        Ok((0..CLUSTERS).map(Self::numbered).filter(|network| taken.contains(&network.name())).collect())
    }

    pub(crate) const fn numbered(number: u8) -> Self {
        Self { number }
    }

    pub(crate) const fn number(self) -> u8 {
        self.number
    }

    /// The namespace's name, as `ip netns` shows it.
    #[must_use]
    pub fn name(self) -> String {
        format!("portcullis-{}", self.number)
    }

    /// The pods' addresses.
    #[must_use]
    pub fn pods(self) -> Ipv4Net {
        self.slice(Ipv4Addr::new(10, 244, 0, 0))
    }

    /// The addresses for Gateways. Any of them can be bound in the namespace, and the machine reaches
    /// them.
    #[must_use]
    pub fn gateway_addresses(self) -> Ipv4Net {
        self.slice(Ipv4Addr::new(10, 98, 0, 0))
    }

    /// The cluster's own address, reached from the machine and from the pods.
    #[must_use]
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.machine_address().to_bits() + 1)
    }

    /// The machine's address on the link, which a cluster sees requests come from.
    #[must_use]
    pub fn machine_address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 97, 0, 4 * self.number + 1)
    }

    /// A command that runs a program in the namespace.
    #[must_use]
    pub fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name()]).arg(program);
        command
    }

    /// The processes in the namespace.
    pub(crate) fn processes(self) -> Result<Vec<i32>, Error> {
        let shown = ip(&["netns", "pids", &self.name()])?;
        Ok(shown.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }

    /// Whether the namespace is there.
    pub(crate) fn exists(self) -> Result<bool, Error> {
        Ok(names()?.contains(&self.name()))
    }

    /// Removes the link, its routes, and the namespace, which must have no processes any more.
    pub(crate) fn remove(self) -> Result<(), Error> {
        // The link goes with the namespace too, but only some time after.
        let _ = ip(&["link", "delete", &self.link_name()]);
        ip(&["netns", "delete", &self.name()]).map(drop)
    }

    fn link(self) -> Result<(), Error> {
        let (name, link) = (self.name(), self.link_name());
        let (machine, inside) = (self.machine_address(), self.address());
        let (pods, gateways) = (self.pods(), self.gateway_addresses());
        let bridge = Ipv4Addr::from_bits(pods.network().to_bits() + 1);
        let prefix = pods.prefix_len();
        batch(
            &[],
            &format!(
                "link add {link} type veth peer name machine netns {name}\n\
                 address add {machine}/30 dev {link}\n\
                 link set {link} up\n\
                 route add {pods} via {inside}\n\
                 route add {gateways} via {inside}\n"
            ),
        )?;
        batch(
            &["-netns", &name],
            &format!(
                "link set lo up\n\
                 address add {inside}/30 dev machine\n\
                 link set machine up\n\
                 link add {BRIDGE} type bridge\n\
                 address add {bridge}/{prefix} dev {BRIDGE}\n\
                 link set {BRIDGE} up\n\
                 route add local {gateways} dev lo\n"
            ),
        )?;
        // So that pods and the machine reach each other.
        let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
        programs::output(self.command("sh").args(["-c", forward])).map(drop)
    }

    fn link_name(self) -> String {
        format!("portcullis{}", self.number)
    }

    /// This cluster's sixteenth of a /16.
    fn slice(self, of: Ipv4Addr) -> Ipv4Net {
        let network = Ipv4Addr::from_bits(of.to_bits() + (u32::from(self.number) << 12));
        Ipv4Net::new_assert(network, 20)
    }
}

fn names() -> Result<Vec<String>, Error> {
    let shown = ip(&["netns", "list"])?;
    Ok(shown.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
}

fn ip(arguments: &[&str]) -> Result<String, Error> {
    programs::output(Command::new("ip").args(arguments))
}

fn batch(options: &[&str], commands: &str) -> Result<(), Error> {
    programs::feed(Command::new("ip").args(options).args(["-batch", "-"]), commands).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clusters side by side share no address.
    #[test]
    fn each_cluster_has_ranges_of_its_own() {
        let last = Network::numbered(15);
        assert_eq!(last.pods().to_string(), "10.244.240.0/20");
        assert_eq!(last.gateway_addresses().to_string(), "10.98.240.0/20");
        assert_eq!(last.machine_address(), Ipv4Addr::new(10, 97, 0, 61));
        assert_eq!(last.address(), Ipv4Addr::new(10, 97, 0, 62));
        assert_eq!(Network::numbered(1).pods().to_string(), "10.244.16.0/20");
    }
}
