//! What a proxy is started with.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use portcullis_model::{HeaderName, Locality, UpstreamScope};

use crate::clock::Clock;
use crate::limits::Limits;

/// How a proxy runs; all of it is fixed while it lives.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// Worker threads; each has its own sockets and upstream connections. At least 1.
    pub workers: usize,
    /// Added to every port that the model names, so that a developer needs no privileges. Redirects carry it.
    pub port_offset: u16,
    /// Where `/metrics`, `/readyz` and `/livez` are served; none turns them off. No backend can be this address.
    pub admin: Option<SocketAddr>,
    /// Where backends may be.
    pub upstreams: UpstreamScope,
    /// Whose `X-Forwarded-*`, `x-request-id` and `x-forwarded-client-cert` are believed, and, unless this is empty,
    /// whose PROXY headers. Behind a PROXY header it is the client named there that is looked for.
    pub trusted_proxies: Vec<IpNet>,
    /// Ports of the model at which every connection begins with a PROXY header. Whoever reaches them can name any
    /// client, unless `trusted_proxies` says who may.
    pub proxy_protocol_ports: Vec<u16>,
    /// A line for each request.
    pub access_log: Option<AccessLogOptions>,
    /// A request from a trusted proxy that carries this header gets it in its answer, saying how it was handled.
    pub debug_header: Option<HeaderName>,
    /// Limits and timeouts.
    pub limits: Limits,
    /// Where the proxy stands, as far as it is known before it starts: see [`ProxyHandle::locate`].
    ///
    /// [`ProxyHandle::locate`]: crate::ProxyHandle::locate
    pub locality: Locality,
    /// The time by which endpoints are judged.
    pub clock: Clock,
}

/// Where and how requests are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// The form of a line.
    pub format: AccessLogFormat,
    /// A file that is appended to; none is standard output.
    pub path: Option<PathBuf>,
}

/// The form of an access-log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// Words in a fixed order, for people.
    Text,
    /// An object a line, for machines.
    Json,
}

/// How a proxy stops without failing requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// How long it goes on accepting, not ready, while load balancers notice.
    pub delay: Duration,
    /// How long open exchanges may last after that.
    pub timeout: Duration,
}

impl Default for Drain {
    fn default() -> Drain {
        Drain { delay: Duration::ZERO, timeout: Duration::from_secs(60) }
    }
}

impl Default for ProxyOptions {
    fn default() -> ProxyOptions {
        ProxyOptions {
            workers: default_workers(),
            port_offset: 0,
            admin: None,
            upstreams: UpstreamScope::Anywhere,
            trusted_proxies: Vec::new(),
            proxy_protocol_ports: Vec::new(),
            access_log: None,
            debug_header: None,
            limits: Limits::default(),
            locality: Locality::default(),
            clock: Clock::default(),
        }
    }
}

impl ProxyOptions {
    pub(crate) fn trusts(&self, peer: IpAddr) -> bool {
        !self.trusted_proxies.is_empty() && self.trusted_proxies.iter().any(|net| net.contains(&peer))
    }
}

/// As many workers as the process has cores, by its affinity and its cgroup's CPU quota.
#[must_use]
pub fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}
