//! A node that runs pods as processes of this machine, for a cluster that tests.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use portcullis_cluster_testing::node::{self, Options};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let options = Options::parse();
    let filter = EnvFilter::try_from_env("PORTCULLIS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    // One thread: a process dies with the thread that started it where it is told to die with its parent.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(node::run(options)).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("portcullis-test-node: {error}");
            ExitCode::FAILURE
        }
    }
}
