//! `cargo xtask bench`: the proxy beside its peers, in one run on one machine.
//!
//! The figure is CPU time of the proxy per request, which a busy machine disturbs least; ratios are taken
//! pair by pair, peer and proxy in turn, and their median counts.

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
}

/// Measures.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.what {
        What::Http1(options) => http1::run(options),
    }
}
