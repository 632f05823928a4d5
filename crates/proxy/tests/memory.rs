//! What an idle connection costs. A process of its own, for nothing else may allocate meanwhile.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "holder/holder.rs"]
mod holder;

use std::time::Duration;

use portcullis_proxy::{Inherited, Proxy, ProxyOptions};
use rustix::process::{Resource, getrlimit};

use holder::Holder;

const CONNECTIONS: u64 = 10_000;
/// What a connection that waits for its next request may keep, in bytes: its task, socket and timer, and no buffer.
const EACH: u64 = 8 * 1024;

#[test]
fn hold_connections() {
    holder::hold();
}

/// Memory of this process that is there, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn ten_thousand_idle_connections_hold_no_buffers() {
    let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let connections = CONNECTIONS.min(descriptors.saturating_sub(100));
    let (proxy, reports) =
        Proxy::start(ProxyOptions { workers: 1, ..ProxyOptions::default() }, Inherited::default()).unwrap();
    proxy.apply(&holder::model());
    let address = reports.recv_timeout(Duration::from_secs(10)).unwrap().result.unwrap();
    let mut holder = Holder::start();
    let before = resident();
    holder.open(address, usize::try_from(connections).unwrap(), "asking");
    assert_eq!(proxy.open_connections(), connections);
    let each = resident().saturating_sub(before) / connections;
    println!("{each} bytes for each of {connections} idle connections");
    assert!(each <= EACH, "{each} bytes for each of {connections} idle connections");
    holder.close();
}
