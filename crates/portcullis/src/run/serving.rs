//! What is served, in a form that a person can copy into a shell.

mod below;

use std::collections::HashSet;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_model::{
    Action, BindAddress, ClusterKey, HostPattern, Listener, ListenerProtocol, Match, Model, PathMatch, Port,
    Route, Rule, Target, Transport, ValueMatch,
};

use crate::address::reachable;

/// A request that meets a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The command that sends it.
    pub(crate) command: String,
    /// What becomes of it.
    pub(crate) leads_to: String,
}

/// A sample for each rule of each listener that is bound, in the order of ports, listeners, routes and rules. Rules
/// that only regular expressions describe have none.
pub(crate) fn samples(
    model: &Model,
    port_offset: u16,
    is_bound: impl Fn(BindAddress) -> bool,
) -> Vec<Sample> {
    let mut seen = HashSet::new();
    let mut samples = Vec::new();
    for (address, port) in model.ports.iter().filter(|(address, _)| is_bound(**address)) {
        if address.transport == Transport::Udp && port.speaks_quic() {
            continue; // what comes by HTTP/3 comes by the others too
        }
        // What listens on several addresses is the same everywhere: show the first.
        if !seen.insert((address.port, Arc::as_ptr(port))) {
            continue;
        }
        of_port(model, *address, port, port_offset, &mut samples);
    }
    samples
}

fn of_port(model: &Model, address: BindAddress, port: &Port, port_offset: u16, samples: &mut Vec<Sample>) {
    for listener in &port.listeners {
        samples.extend(below::samples(listener, address, address.port.saturating_add(port_offset)));
        let mut routes: Vec<&Arc<Route>> = listener.routes.iter().collect();
        routes.sort_by(|one, other| one.origin.cmp(&other.origin));
        for route in routes {
            let Some(host) = host(listener, route) else { continue };
            let site =
                Site { address, listener, host: &host, port: address.port.saturating_add(port_offset) };
            samples.extend(route.rules.iter().filter_map(|rule| {
                let command = rule.matches.iter().find_map(|candidate| site.command(candidate))?;
                Some(Sample { command, leads_to: leads_to(model, rule) })
            }));
        }
    }
}

/// A host that both the listener and the route take; `None` where any will do is the address itself.
fn host(listener: &Listener, route: &Route) -> Option<HostPattern> {
    let common = route.hostnames.iter().filter(|hostname| hostname.intersects(&listener.hostname));
    common
        .map(
            |hostname| {
                if hostname.rank() >= listener.hostname.rank() { hostname } else { &listener.hostname }
            },
        )
        .max_by_key(|hostname| hostname.rank())
        .cloned()
}

/// Where a listener is reached.
struct Site<'a> {
    address: BindAddress,
    listener: &'a Listener,
    host: &'a HostPattern,
    port: u16,
}

impl Site<'_> {
    fn command(&self, wanted: &Match) -> Option<String> {
        let mut command = String::from("curl");
        if let Some(method) = &wanted.method {
            let _ = match &**method {
                "GET" => Ok(()),
                "HEAD" => write!(command, " -I"),
                method => write!(command, " -X {method}"),
            };
        }
        for header in &wanted.headers {
            let ValueMatch::Exact(value) = &header.value else { return None };
            let _ = write!(command, " -H {}", quoted(&format!("{}: {value}", header.name.as_str())));
        }
        let host = self.host_name();
        let scheme = match self.listener.protocol {
            ListenerProtocol::Https(_) | ListenerProtocol::Http3(_) => {
                command.push_str(" -k");
                "https"
            }
            _ => "http",
        };
        if let Some(resolve) = self.resolve(&host) {
            let _ = write!(command, " --resolve {resolve}");
        }
        let url = format!("{scheme}://{host}:{}{}{}", self.port, path(&wanted.path)?, query(wanted)?);
        let _ = write!(command, " {}", quoted(&url));
        Some(command)
    }

    /// The host of the URL: a name, or the address where any name will do.
    fn host_name(&self) -> String {
        match self.host {
            HostPattern::Exact(name) => name.as_str().to_owned(),
            HostPattern::Suffix(suffix) => format!("any.{}", suffix.as_str()),
            HostPattern::Any => match reachable(self.address.ip) {
                ip if ip.is_loopback() => "localhost".to_owned(),
                IpAddr::V6(ip) => format!("[{ip}]"),
                ip => ip.to_string(),
            },
        }
    }

    /// What curl has to be told about a name that nobody resolves. Names under `localhost` it knows (RFC 6761).
    fn resolve(&self, host: &str) -> Option<String> {
        let known =
            host == "localhost" || host.ends_with(".localhost") || matches!(self.host, HostPattern::Any);
        (!known).then(|| match reachable(self.address.ip) {
            IpAddr::V6(ip) => format!("{host}:{}:[{ip}]", self.port),
            ip => format!("{host}:{}:{ip}", self.port),
        })
    }
}

fn path(wanted: &PathMatch) -> Option<&str> {
    match wanted {
        PathMatch::Exact(path) => Some(path),
        PathMatch::Prefix(prefix) if prefix.is_empty() => Some("/"),
        PathMatch::Prefix(prefix) => Some(prefix),
        PathMatch::Regex(_) | PathMatch::Call(_) => None, // curl makes no calls
    }
}

fn query(wanted: &Match) -> Option<String> {
    let mut query = String::new();
    for (place, parameter) in wanted.query.iter().enumerate() {
        let ValueMatch::Exact(value) = &parameter.value else { return None };
        let before = if place == 0 { '?' } else { '&' };
        let _ = write!(query, "{before}{}={}", encoded(&parameter.name), encoded(value));
    }
    Some(query)
}

/// Percent-encoded but for what a query may hold anywhere.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Quoted for a POSIX shell, where that is needed.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:[]=%@,+".contains(c);
    if text.chars().all(plain) && !text.contains('[') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn leads_to(model: &Model, rule: &Rule) -> String {
    match &rule.action {
        Action::Redirect(redirect) => format!("{} redirect", redirect.status),
        Action::Fail(failure) => format!("{}: {}", failure.status, failure.message),
        Action::Forward(forward) => {
            let alone = forward.backends.len() == 1;
            let backends = forward.backends.iter().filter(|backend| backend.weight > 0).map(|backend| {
                let weight = if alone { String::new() } else { format!(" ({})", backend.weight) };
                let failure = match &backend.target {
                    Target::Cluster(cluster) if has_endpoint(model, cluster) => String::new(),
                    Target::Cluster(_) => " 503: no endpoint".to_owned(),
                    Target::Fail(failure) => format!(" {}: {}", failure.status, failure.message),
                };
                format!("{}{weight}{failure}", backend.origin)
            });
            backends.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Whether there is an instance that takes requests. Host names may yet turn out to have none.
fn has_endpoint(model: &Model, cluster: &ClusterKey) -> bool {
    model.endpoints.get(&cluster.endpoints).is_some_and(|endpoints| !endpoints.endpoints.is_empty())
}

#[cfg(test)]
#[path = "serving/tests.rs"]
mod tests;
