//! Backends: which endpoint a request goes to, and over which connection.

mod cluster;
mod connect;
mod connection;
mod dns;
mod http2;
mod pool;
mod socket;
mod tls;

pub(crate) use cluster::{Cluster, Target, Targets};
pub(crate) use connect::Forbidden;
pub(crate) use connection::{Upstream, UpstreamStream};
pub(crate) use http2::{Place, failed};
pub(crate) use pool::{Connected, LocalTarget, Pools, Taken, Wish};
pub(crate) use tls::{Identity, TlsClient};
