//! The options of `controller`.

use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use ipnet::IpNet;
use portcullis_cluster::Candidate;
use portcullis_model::UpstreamScope;
use portcullis_proxy::ProxyOptions;

use super::AccessOptions;
use crate::data_plane::DataPlaneOptions;
use crate::exit::Failure;
use crate::logs::LogOptions;
use crate::values;

/// Work in a cluster: serve its Gateways with the data plane in this process, and write their statuses
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  portcullis controller --kubeconfig admin.conf --address-pool 198.51.100.0/26
  portcullis controller --publish-service edge/load-balancer

In a pod the ServiceAccount is used; deploy/ has manifests with the permissions that it needs.")]
pub(crate) struct Controller {
    #[command(flatten)]
    pub(super) access: AccessOptions,
    /// Networks, separated by commas, from which each Gateway gets an address of its own
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = values::network, conflicts_with_all = ["publish_service", "node_address"])]
    pub(super) address_pool: Vec<IpNet>,
    /// A Service whose addresses are those of the Gateways, because it leads to this node
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(super) publish_service: Option<Named>,
    /// Addresses of this node for Gateways that ask for none, separated by commas (default: those of its default routes)
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub(super) node_address: Vec<IpAddr>,
    /// Let backends be in these networks, or be sockets of this machine, though it is loopback or link-local
    #[arg(long, value_name = "CIDR|unix", value_delimiter = ',')]
    allow_backend: Vec<AllowedBackend>,
    /// The Lease by which controllers agree who writes (default: portcullis in the pod's namespace)
    #[arg(long, value_name = "NAMESPACE/NAME")]
    lease: Option<Named>,
    #[command(flatten)]
    pub(super) data_plane: DataPlaneOptions,
    #[command(flatten)]
    pub(super) logs: LogOptions,
}

impl Controller {
    /// What the proxy is started with.
    pub(super) fn proxy(&self) -> Result<ProxyOptions, Failure> {
        Ok(ProxyOptions { upstreams: self.scope(), ..self.data_plane.proxy(0)? })
    }

    fn scope(&self) -> UpstreamScope {
        let networks = self.allow_backend.iter().filter_map(|allowed| match allowed {
            AllowedBackend::Network(network) => Some(*network),
            AllowedBackend::Unix => None,
        });
        let unix = self.allow_backend.contains(&AllowedBackend::Unix);
        UpstreamScope::Network { allowed: networks.collect(), unix }
    }

    /// How this controller stands for election.
    pub(super) fn candidate(&self) -> Candidate {
        let Named { namespace, name } = self.lease.clone().unwrap_or_else(|| Named {
            namespace: std::env::var("POD_NAMESPACE").unwrap_or_else(|_| "portcullis".to_owned()),
            name: "portcullis".to_owned(),
        });
        let host = std::env::var("POD_NAME")
            .unwrap_or_else(|_| rustix::system::uname().nodename().to_string_lossy().into_owned());
        // Two on one host, or a pod that was started again, are two candidates.
        let identity = format!("{host}_{}_{}", std::process::id(), jiff::Timestamp::now().as_millisecond());
        Candidate { namespace, name, identity }
    }
}

/// A namespaced name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("expected NAMESPACE/NAME".to_owned()),
        }
    }
}

/// What backends may be beyond the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedBackend {
    Network(IpNet),
    Unix,
}

impl FromStr for AllowedBackend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        let network = values::network(text).map(Self::Network);
        network.map_err(|expected| format!("{expected}, or unix"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        controller: Controller,
    }

    fn parse(line: &str) -> Result<Controller, clap::Error> {
        let words = std::iter::once("controller").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.controller)
    }

    #[test]
    fn backends_are_guarded_unless_told_otherwise() {
        let guarded = parse("").unwrap().scope();
        assert_eq!(guarded, UpstreamScope::Network { allowed: [].into(), unix: false });
        let open = parse("--allow-backend 127.0.0.0/8,169.254.1.1,unix").unwrap().scope();
        let networks = ["127.0.0.0/8", "169.254.1.1/32"].map(|network| network.parse().unwrap());
        assert_eq!(open, UpstreamScope::Network { allowed: networks.into(), unix: true });
        assert!(parse("--allow-backend all").is_err());
    }

    #[test]
    fn the_lease_has_a_namespace_and_every_candidate_a_name_of_its_own() {
        let one = parse("--lease edge/lock").unwrap().candidate();
        assert_eq!((one.namespace.as_str(), one.name.as_str()), ("edge", "lock"));
        assert!(one.identity.contains(&std::process::id().to_string()));
        for wrong in ["--lease lock", "--lease /x", "--lease a/b/c", "--publish-service x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_come_from_one_place() {
        assert!(parse("--address-pool 10.0.0.0/24 --publish-service a/b").is_err());
        assert!(parse("--address-pool 10.0.0.0/24 --node-address 10.0.0.1").is_err());
        assert!(parse("--publish-service a/b --node-address 10.0.0.1").is_ok());
    }
}
