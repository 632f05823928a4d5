//! The options of every command that serves traffic.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use portcullis_api::spelling::nearest;
use portcullis_model::{HeaderName, Locality, UpstreamScope};
use portcullis_proxy::{
    AccessLogFormat, AccessLogOptions, Clock, Drain, LimitError, Limits, ProxyOptions, default_workers,
};

use crate::exit::Failure;
use crate::locality::LocalityOptions;
use crate::values;

/// Where the admin endpoint listens unless told otherwise.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9975);

/// Worker threads, at most: above the processors of any machine of today.
const MAX_WORKERS: usize = 1024;

/// How the data plane in this process serves.
#[derive(Args, Debug)]
pub(crate) struct DataPlaneOptions {
    /// Worker threads (default: the CPUs that this process may use)
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<usize>,
    /// Where /metrics, /endpoints, /readyz and /livez are served
    #[arg(long, value_name = "ADDR|off", default_value_t = Admin(Some(ADMIN)))]
    admin: Admin,
    /// Networks of proxies in front, separated by commas: their X-Forwarded-* and x-request-id are believed, and
    /// only their PROXY headers
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = values::network)]
    trusted_proxies: Vec<IpNet>,
    /// Listener ports, separated by commas, at which connections begin with a PROXY protocol header
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = values::port)]
    proxy_protocol: Vec<u16>,
    #[command(flatten)]
    locality: LocalityOptions,
    /// A line for each request, to standard output or a file
    #[arg(long, value_name = "text|json[=PATH]", value_parser = access_log)]
    access_log: Option<AccessLogOptions>,
    /// A header by which trusted proxies ask how a request was handled; the answer carries it
    #[arg(long, value_name = "NAME", value_parser = header_name)]
    debug_header: Option<HeaderName>,
    /// After SIGTERM: how long to go on accepting while load balancers notice
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::duration)]
    drain_delay: Duration,
    /// After that: how long open requests may last
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    drain_timeout: Duration,
    /// Set a limit or timeout, such as head-timeout=5s (may be repeated); docs/limits.md lists them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
}

impl DataPlaneOptions {
    /// What the proxy is started with.
    pub(crate) fn proxy(&self, port_offset: u16) -> Result<ProxyOptions, Failure> {
        Ok(ProxyOptions {
            workers: self.workers.unwrap_or_else(default_workers).clamp(1, MAX_WORKERS),
            port_offset,
            admin: self.admin.0,
            upstreams: UpstreamScope::Anywhere,
            trusted_proxies: self.trusted_proxies.clone(),
            proxy_protocol_ports: self.proxy_protocol.clone(),
            access_log: self.access_log.clone(),
            debug_header: self.debug_header.clone(),
            limits: self.limits()?,
            locality: self.locality(),
            clock: Clock::default(),
        })
    }

    /// Where the proxy stands.
    pub(crate) fn locality(&self) -> Locality {
        self.locality.locality()
    }

    /// Listener ports at which a PROXY protocol header is expected.
    pub(crate) fn proxy_protocol_ports(&self) -> &[u16] {
        &self.proxy_protocol
    }

    /// How it ends.
    pub(crate) fn drain(&self) -> Drain {
        Drain { delay: self.drain_delay, timeout: self.drain_timeout }
    }

    fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = Limits::default();
        for setting in &self.limits {
            let parts = setting.split_once('=');
            let (name, value) = parts.ok_or_else(|| {
                Failure::usage(format!("--limit {setting}: it has the form NAME=VALUE"))
                    .hint("for example --limit head-timeout=5s")
            })?;
            limits.set(name, value).map_err(|error| unusable(setting, &error))?;
        }
        Ok(limits)
    }
}

/// What is wrong with a setting, and the limit that may have been meant.
fn unusable(setting: &str, error: &LimitError) -> Failure {
    let failure = Failure::usage(format!("--limit {setting}: {error}"));
    let LimitError::Unknown(name) = error else { return failure };
    match nearest(name, Limits::table().iter().map(|limit| limit.name)) {
        Some(meant) => failure.hint(format!("did you mean {meant}?")),
        None => failure.hint("docs/limits.md lists the limits"),
    }
}

/// A number of threads: as many as there are processors is the most that is of use, and each takes memory and sockets
/// at every port.
fn workers(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_WORKERS).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MAX_WORKERS}"))
}

/// The admin address; none is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Admin(Option<SocketAddr>);

impl FromStr for Admin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|address| Self(Some(address)))
                .map_err(|_| "expected an address and port such as 127.0.0.1:9975, or off".to_owned()),
        }
    }
}

impl std::fmt::Display for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("off"),
        }
    }
}

fn access_log(text: &str) -> Result<AccessLogOptions, String> {
    const EXPECTED: &str = "expected text or json, and =PATH for a file";
    let (format, path) = match text.split_once('=') {
        Some((_, "")) => return Err(EXPECTED.to_owned()),
        Some((format, path)) => (format, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let format = match format {
        "text" => AccessLogFormat::Text,
        "json" => AccessLogFormat::Json,
        _ => return Err(EXPECTED.to_owned()),
    };
    Ok(AccessLogOptions { format, path })
}

fn header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::new(text).ok_or_else(|| "expected the name of a header".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: DataPlaneOptions,
    }

    fn parse(line: &str) -> Result<DataPlaneOptions, clap::Error> {
        let words = std::iter::once("serve").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.options)
    }

    #[test]
    fn nothing_said_means_the_documented_defaults() {
        let options = parse("").unwrap();
        assert_eq!(options.drain(), Drain { delay: Duration::ZERO, timeout: Duration::from_secs(60) });
        let proxy = options.proxy(0).unwrap();
        assert_eq!(proxy.admin, Some("127.0.0.1:9975".parse().unwrap()));
        assert_eq!((proxy.access_log, proxy.limits), (None, Limits::default()));
    }

    #[test]
    fn values_are_checked_when_the_command_line_is_read() {
        let options = parse("--admin off --access-log json=/tmp/a --limit head-timeout=2s --trusted-proxies 10.0.0.0/8,::1/128").unwrap();
        let proxy = options.proxy(0).unwrap();
        assert_eq!(proxy.admin, None);
        assert_eq!(proxy.access_log.unwrap().path, Some(PathBuf::from("/tmp/a")));
        assert_eq!(proxy.limits.head_timeout, Duration::from_secs(2));
        assert_eq!(proxy.trusted_proxies.len(), 2);
        for wrong in ["--admin on", "--access-log xml", "--access-log json=", "--drain-delay 5"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["--limit nonsense=1", "--limit head-timeout", "--limit head-timeout=9"] {
            assert!(parse(wrong).unwrap().proxy(0).is_err(), "{wrong}");
        }
    }
}
