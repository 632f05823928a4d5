//! The pods' network: a bridge, and an address for each pod.

use std::{
    collections::BTreeSet,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use ipnet::Ipv4Net;
use rustix::process::Pid;
use serde::Deserialize;
use tokio::process::Command;

use super::tools::{self, ToolError};

/// The bridge, and the addresses of the pods behind it.
#[derive(Debug)]
pub(crate) struct Network {
    bridge: String,
    /// The machine's own address on the bridge.
    pub(crate) host: Ipv4Addr,
    pool: Arc<Mutex<Pool>>,
}

/// A pod's address, given back when dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) address: Ipv4Addr,
    pool: Arc<Mutex<Pool>>,
}

impl Network {
    /// # Errors
    /// When there is no such bridge, or it has no address in the pods' range.
    pub(crate) async fn open(bridge: &str, pods: Ipv4Net) -> Result<Self, ToolError> {
        let shown =
            tools::run(Command::new("ip").args(["-json", "address", "show", "dev", bridge]), "").await?;
        let links: Vec<Link> =
            serde_json::from_str(&shown).map_err(|error| ToolError::failed("ip", error.to_string()))?;
        let addresses =
            links.into_iter().flat_map(|link| link.addr_info).filter_map(|shown| shown.local.parse().ok());
        let taken: BTreeSet<Ipv4Addr> = addresses.filter(|address| pods.contains(address)).collect();
        let Some(host) = taken.first().copied() else {
            return Err(ToolError::failed("ip", format!("bridge {bridge} has no address in {pods}")));
        };
        let pool = Arc::new(Mutex::new(Pool { pods, taken, last: pods.network() }));
        Ok(Self { bridge: bridge.to_owned(), host, pool })
    }

    /// An address for a pod; None when all are taken.
    pub(crate) fn lease(&self) -> Option<Lease> {
        let address = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Lease { address, pool: Arc::clone(&self.pool) })
    }

    /// Joins a network namespace, given by a process in it, to the bridge. When the namespace ends,
    /// so does this.
    pub(crate) async fn attach(&self, inside: Pid, lease: &Lease) -> Result<(), ToolError> {
        let (bridge, address) = (&self.bridge, lease.address);
        let pid = inside.as_raw_nonzero();
        let name = format!("pod{:08x}", address.to_bits());
        let outside = format!(
            "link add {name} type veth peer name eth0 netns {pid}\nlink set {name} master {bridge} up\n"
        );
        tools::run(Command::new("ip").args(["-batch", "-"]), &outside).await?;
        let prefix = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pods.prefix_len();
        let inside = format!(
            "link set lo up\naddress add {address}/{prefix} dev eth0\nlink set eth0 up\nroute add default via {}\n",
            self.host
        );
        let target = pid.to_string();
        let mut enter = Command::new("nsenter");
        tools::run(enter.args(["--target", &target, "--net", "ip", "-batch", "-"]), &inside).await?;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).taken.remove(&self.address);
    }
}

/// One interface of `ip -json address`.
#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    addr_info: Vec<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    local: String,
}

/// Addresses in turn, so that one is not used again soon after its pod is gone.
#[derive(Debug)]
struct Pool {
    pods: Ipv4Net,
    taken: BTreeSet<Ipv4Addr>,
    last: Ipv4Addr,
}

impl Pool {
    fn take(&mut self) -> Option<Ipv4Addr> {
        let (first, end) = (self.pods.network().to_bits() + 1, self.pods.broadcast().to_bits());
        let start = (self.last.to_bits() + 1).clamp(first, end);
        let mut candidates = (start..end).chain(first..start).map(Ipv4Addr::from_bits);
        let address = candidates.find(|address| !self.taken.contains(address))?;
        self.taken.insert(address);
        self.last = address;
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_in_turn_and_never_twice() {
        let pods: Ipv4Net = "10.244.0.0/29".parse().unwrap();
        let taken = BTreeSet::from([Ipv4Addr::new(10, 244, 0, 1)]);
        let mut pool = Pool { pods, taken, last: pods.network() };
        let mut take = || pool.take().map(|address| address.octets()[3]);
        assert_eq!([take(), take(), take(), take(), take()], [2, 3, 4, 5, 6].map(Some));
        assert_eq!(take(), None, "neither the broadcast address nor the bridge's");
        pool.taken.remove(&Ipv4Addr::new(10, 244, 0, 3));
        assert_eq!(pool.take(), Some(Ipv4Addr::new(10, 244, 0, 3)));
    }
}
