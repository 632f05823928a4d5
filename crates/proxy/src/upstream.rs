//! Backends: which endpoint a request goes to, and over which connection.

mod cluster;
mod connect;
mod connection;
mod dns;
mod pool;
mod socket;
mod tls;

pub(crate) use cluster::{Cluster, Targets};
pub(crate) use connect::Forbidden;
pub(crate) use connection::{Upstream, UpstreamStream};
pub(crate) use pool::{LocalTarget, Pools, Taken};
pub(crate) use tls::{Identity, TlsClient};
