//! Backends: which endpoint a request goes to, and over which connection.

mod cluster;
mod connect;
mod connection;
mod dns;
mod health;
mod http2;
mod pool;
mod socket;
mod taken;
mod tls;

pub(crate) use cluster::{Cluster, ClusterTargets, Target, Targets};
pub(crate) use connect::Forbidden;
pub(crate) use connection::{Upstream, UpstreamStream};
pub(crate) use health::{EndpointSet, EndpointSets, Seen};
pub(crate) use http2::{Place, UpstreamTunnel, failed};
pub(crate) use pool::{Connected, LocalTarget, Pools, Wish};
pub(crate) use taken::Taken;
pub(crate) use tls::{Identity, TlsClient};
