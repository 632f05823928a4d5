//! `cargo xtask bench propagation|secrets`: Portcullis as the controller of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use portcullis_cluster_testing::bench::{
    Stage,
    propagation::{self, Subject},
    secrets, settling,
};

use crate::cluster::block_on;
use crate::process::Failure;
use crate::tools::{self, CURL, GO, IP};

/// The mean time from acknowledgement to the first right answer may be this.
const MEAN: Duration = Duration::from_millis(10);

/// No change may take longer.
const LONGEST: Duration = Duration::from_millis(100);

/// All changed routes have their statuses in this time.
const SETTLED: Duration = Duration::from_secs(20);

/// What all unrelated Secrets may cost, in bytes.
const SECRETS: u64 = 30_000_000;

/// How changes are measured.
#[derive(clap::Args)]
pub(crate) struct Propagation {
    /// How many other routes there are, each with a Service and endpoints.
    #[arg(long, default_value_t = 1000)]
    routes: usize,
    /// How many changes of one route, then of the endpoints of one Service.
    #[arg(long, default_value_t = 500)]
    changes: usize,
    #[command(flatten)]
    program: Program,
}

/// How the statuses of many changed routes are measured.
#[derive(clap::Args)]
pub(crate) struct Settling {
    /// How many routes there are; all are changed.
    #[arg(long, default_value_t = 2000)]
    routes: usize,
    #[command(flatten)]
    program: Program,
}

/// How memory is measured.
#[derive(clap::Args)]
pub(crate) struct Secrets {
    /// How many Secrets of 10 KiB there are that nothing names.
    #[arg(long, default_value_t = 10_000)]
    secrets: usize,
    #[command(flatten)]
    program: Program,
}

#[derive(clap::Args)]
struct Program {
    /// The controller (default: the release build).
    #[arg(long = "program", value_name = "FILE")]
    path: Option<PathBuf>,
}

/// Measures from the API server's acknowledgement to the first right answer.
pub(crate) fn propagation(options: &Propagation) -> Result<(), Failure> {
    tools::need(&[CURL, GO, IP])?;
    block_on(async {
        let stage = Stage::set("propagation", options.program.path.clone(), options.routes).await?;
        println!("{} other routes; from acknowledgement to the first right answer, ms", options.routes);
        println!("| what changes | changes | mean | p50 | p99 | max | answers | wrong |");
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
        let mut exceeded = false;
        for (what, subject) in [("HTTPRoute", Subject::Route), ("EndpointSlice", Subject::Endpoints)] {
            let figures = propagation::measure(&stage, subject, options.changes).await?;
            let [mean, median, p99, longest] =
                [figures.mean(), figures.percentile(50), figures.percentile(99), figures.percentile(100)]
                    .map(|time| format!("{:.1}", time.as_secs_f64() * 1e3));
            let (changes, answers, wrong) = (figures.times.len(), figures.answers, figures.wrong.len());
            println!("| {what} | {changes} | {mean} | {median} | {p99} | {longest} | {answers} | {wrong} |");
            figures.wrong.iter().for_each(|wrong| println!("wrong: {wrong}"));
            exceeded |= figures.mean() > MEAN || figures.percentile(100) > LONGEST || wrong > 0;
        }
        within(!exceeded, "a mean of 10 ms, 100 ms at most, and no wrong answer")
    })?
}

/// Measures from the first of many changes to the last status.
pub(crate) fn settling(options: &Settling) -> Result<(), Failure> {
    tools::need(&[CURL, GO, IP])?;
    block_on(async {
        let stage = Stage::set("settling", options.program.path.clone(), options.routes).await?;
        let figures = settling::measure(&stage, options.routes).await?;
        let [changed, settled] = [figures.changed, figures.settled].map(|time| time.as_secs_f64());
        println!(
            "{} routes: changed in {changed:.1} s, all statuses written {settled:.1} s after the first change",
            options.routes
        );
        within(figures.settled <= SETTLED, "20 s")
    })?
}

/// Measures what Secrets cost that nothing names.
pub(crate) fn secrets(options: &Secrets) -> Result<(), Failure> {
    tools::need(&[CURL, GO, IP])?;
    block_on(async {
        let mut stage = Stage::set("secrets", options.program.path.clone(), 10).await?;
        let figures = secrets::measure(&mut stage, options.secrets).await?;
        let [before, after, restarted] =
            [figures.before, figures.after, figures.restarted].map(|bytes| bytes as f64 / 1e6);
        println!(
            "{} Secrets of 10 KiB: resident memory {before:.1} MB before, {after:.1} MB after, {restarted:.1} MB \
             in a controller started beside them",
            options.secrets
        );
        within(figures.after.max(figures.restarted) < figures.before + SECRETS, "30 MB more")
    })?
}

fn within(is_so: bool, limit: &str) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(Failure::Other(format!("beyond the limit: {limit}"))) }
}
