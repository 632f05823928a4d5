//! `cargo xtask conformance`: the official suite against the controller, in a fresh cluster.

use portcullis_cluster_testing::conformance;

use crate::cluster::block_on;
use crate::process::Failure;
use crate::tools::{self, CURL, GO, IP};

/// What to run.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// One test of the suite alone, such as `HTTPRouteWeight`; writes no report.
    #[arg(long, value_name = "TEST")]
    run: Option<String>,
}

/// Runs the suite and fails unless it passed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    tools::need(&[CURL, GO, IP])?;
    let judgement = block_on(conformance::run(options.run.as_deref()))??;
    println!("what the suite said: {}", judgement.log.display());
    println!("what the controller said: {}", judgement.controller_log.display());
    if let Some(report) = &judgement.report {
        println!("report: {}", report.display());
    }
    if !judgement.passed {
        return Err(Failure::Other("the conformance suite failed".to_owned()));
    }
    if judgement.unused.is_empty() {
        return Ok(());
    }
    let unused: Vec<String> = judgement.unused.iter().map(ToString::to_string).collect();
    Err(Failure::Other(format!("deploy/rbac.yaml gives rights that were not used: {}", unused.join(", "))))
}
