//! `cargo xtask mutants`: small changes to the code that some test has to notice.
//!
//! `.cargo/mutants.toml` says how they are judged, and lists those that no test can notice, with the reason.

use crate::process::{self, Failure};
use crate::tools;

const CARGO_MUTANTS: &str = "27.1.0";
/// The crates whose every line is a rule.
const CRATES: [&str; 3] = ["portcullis-resolve", "portcullis-routing", "portcullis-http1"];

/// Which share of all mutants to try.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A part of them, as `K/N`: every N-th in the order of the source, beginning with the K-th, counted from 0.
    #[arg(long)]
    shard: Option<String>,
    /// Only this package.
    #[arg(long)]
    package: Option<String>,
}

/// Mutates.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mutants = tools::cargo_tool("cargo-mutants", CARGO_MUTANTS)?;
    let mut run = process::command(
        &mutants.to_string_lossy(),
        &["mutants", "--no-shuffle", "--sharding", "round-robin"],
    );
    // Each run copies the sources anew; what they depend on is built once.
    run.env("CARGO_TARGET_DIR", process::root().join("target").join("mutants"));
    match &options.package {
        Some(package) => run.args(["--package", package]),
        None => run.args(CRATES.iter().flat_map(|package| ["--package", package])),
    };
    if let Some(shard) = &options.shard {
        run.args(["--shard", shard]);
    }
    process::run(&mut run)
}
