//! `cargo xtask bench`: the proxy beside its peers, in one run on one machine; the controller in a cluster.
//!
//! The proxy's figure is CPU time of the proxy per request, which a busy machine disturbs least; ratios are taken
//! pair by pair, peer and proxy in turn, and their median counts.

mod cluster;
mod http1;
mod manifests;
mod peer;
mod report;
mod wrk;

use crate::process::Failure;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// HTTP/1.1 proxying beside nginx, with one route and with 10,000.
    Http1(http1::Options),
    /// How soon traffic follows a change in a cluster.
    Propagation(cluster::Propagation),
    /// How soon many changed routes have their statuses.
    Settling(cluster::Settling),
    /// How much memory Secrets cost that nothing names.
    Secrets(cluster::Secrets),
}

/// Measures.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.what {
        What::Http1(options) => http1::run(options),
        What::Propagation(options) => cluster::propagation(options),
        What::Settling(options) => cluster::settling(options),
        What::Secrets(options) => cluster::secrets(options),
    }
}
