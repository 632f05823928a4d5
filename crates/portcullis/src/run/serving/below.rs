//! Samples of listeners below HTTP.

use portcullis_model::{BindAddress, HostPattern, L4Route, Listener, ListenerProtocol};

use super::Sample;
use crate::address::reachable;

/// A sample for each hostname that a route of the listener adds, the oldest route first; one where there are none.
pub(super) fn samples(listener: &Listener, address: BindAddress, port: u16) -> Vec<Sample> {
    let mut routes: Vec<&L4Route> = listener.protocol.l4_routes().iter().map(|route| &**route).collect();
    routes.sort_by(|one, other| one.seniority(other));
    let mut taken: Vec<&HostPattern> = Vec::new();
    let mut samples = Vec::new();
    for route in routes {
        for hostname in route.hostnames.iter().filter(|name| name.intersects(&listener.hostname)) {
            if taken.contains(&hostname) {
                continue; // an older route has it
            }
            taken.push(hostname);
            samples.push(Sample {
                command: command(listener, hostname, address, port),
                leads_to: backends(route),
            });
        }
    }
    samples
}

fn command(listener: &Listener, hostname: &HostPattern, address: BindAddress, port: u16) -> String {
    let ip = reachable(address.ip);
    match &listener.protocol {
        ListenerProtocol::Tcp(_) => format!("nc {ip} {port}"),
        ListenerProtocol::Udp(_) => format!("nc -u {ip} {port}"),
        _ => {
            let name = match hostname {
                HostPattern::Exact(name) => format!(" -servername {}", name.as_str()),
                HostPattern::Suffix(suffix) => format!(" -servername any.{}", suffix.as_str()),
                HostPattern::Any => String::new(),
            };
            format!("openssl s_client -connect {}{name}", std::net::SocketAddr::new(ip, port))
        }
    }
}

fn backends(route: &L4Route) -> String {
    let shares = route.backends.iter().filter(|backend| backend.weight > 0);
    shares.map(|backend| backend.origin.to_string()).collect::<Vec<_>>().join(", ")
}
