//! The options of `run`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use portcullis_proxy::ProxyOptions;

use crate::data_plane::DataPlaneOptions;
use crate::exit::Failure;
use crate::logs::LogOptions;
use crate::values;

/// Serve the resources in files and folders, and reload them when they change
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  portcullis run examples/quickstart --echo --port-offset 18000
  portcullis run /etc/portcullis --bind 192.0.2.1 --access-log json --drain-delay 5s

SIGTERM and SIGINT drain, a second one ends at once. SIGHUP and SIGUSR1 reopen the access log's file.")]
pub(crate) struct Run {
    /// Files and folders (*.yaml, *.yml, *.json, recursively); - is standard input
    #[arg(value_name = "PATH", required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Addresses for Gateways that ask for none, separated by commas (default: all)
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub(super) bind: Vec<IpAddr>,
    /// Added to every listener's port, so that no privileges are needed; redirects carry it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::port_offset)]
    pub(super) port_offset: u16,
    /// Let a small backend stand in for every Service without endpoints; it answers with the request as JSON
    #[arg(long, value_name = "IP[:PORT]", num_args = 0..=1, default_missing_value = "127.0.0.1")]
    pub(super) echo: Option<EchoAddress>,
    /// Take the listening sockets over from the process that was started with the same SOCKET, if there is one; then
    /// wait there for the next
    #[arg(long, value_name = "SOCKET")]
    pub(super) takeover: Option<PathBuf>,
    #[command(flatten)]
    pub(super) data_plane: DataPlaneOptions,
    #[command(flatten)]
    pub(super) logs: LogOptions,
}

impl Run {
    /// What the proxy is started with.
    pub(super) fn proxy(&self) -> Result<ProxyOptions, Failure> {
        self.data_plane.proxy(self.port_offset)
    }
}

/// Where stand-ins listen. With a port, the first takes that and the others those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EchoAddress(pub(super) SocketAddr);

impl FromStr for EchoAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.parse().or_else(|_| text.parse().map(|ip: IpAddr| SocketAddr::new(ip, 0)));
        address.map(Self).map_err(|_| {
            "expected nothing, or an address, best written --echo=127.0.0.1:3000; paths stand before --echo".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: Run,
    }

    fn parse(line: &str) -> Result<Run, clap::Error> {
        Line::try_parse_from(std::iter::once("run").chain(line.split_whitespace())).map(|line| line.run)
    }

    #[test]
    fn the_shortest_line_has_the_documented_defaults() {
        let run = parse("dir").unwrap();
        assert_eq!(run.echo, None);
        let proxy = run.proxy().unwrap();
        assert_eq!(proxy.port_offset, 0);
    }

    #[test]
    fn addresses_to_bind_and_paths_are_demanded_and_checked() {
        for wrong in ["d --bind nowhere", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn echo_may_have_an_address_and_does_not_take_a_path_for_one() {
        let run = parse("dir --echo --workers 1").unwrap();
        assert_eq!(run.echo, Some(EchoAddress("127.0.0.1:0".parse().unwrap())));
        assert_eq!(parse("dir --echo [::1]:3000").unwrap().echo.unwrap().0, "[::1]:3000".parse().unwrap());
        assert_eq!(parse("dir --echo=10.0.0.1").unwrap().echo.unwrap().0, "10.0.0.1:0".parse().unwrap());
        let taken = parse("--echo dir").unwrap_err().to_string();
        assert_eq!(
            taken.lines().next(),
            Some(
                "error: invalid value 'dir' for '--echo [<IP[:PORT]>]': expected nothing, or an address, best written \
                 --echo=127.0.0.1:3000; paths stand before --echo"
            )
        );
    }
}
