//! Everything a maintainer runs: `cargo xtask --help`.
#![forbid(unsafe_code)]

mod bench;
mod cluster;
mod conformance;
mod fuzz;
mod measure;
mod mutants;
mod process;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything a maintainer of Portcullis runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs what the tests need and runs them all: format, lints, licences, unit, end to end, referees.
    Test(test::Options),
    /// Writes the generated pages of docs/ anew from the source.
    Docs,
    /// Measures the proxy beside its peers in one run.
    Bench(bench::Options),
    /// Starts, uses and removes Kubernetes clusters on this machine.
    Cluster(cluster::Options),
    /// Runs the official Gateway API conformance suite in a fresh cluster.
    Conformance(conformance::Options),
    /// Fuzzes every target for a while.
    Fuzz(fuzz::Options),
    /// Changes the code in small ways and asks whether a test notices.
    Mutants(mutants::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test(options) => test::run(&options),
        Task::Docs => test::write_docs(),
        Task::Bench(options) => bench::run(&options),
        Task::Cluster(options) => cluster::run(&options),
        Task::Conformance(options) => conformance::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Mutants(options) => mutants::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
