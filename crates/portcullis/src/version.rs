//! `portcullis version`.

use clap::Args;
use serde_json::json;

use crate::exit::{Failure, Outcome};
use crate::output::{self, Output};

/// The release of the Gateway API whose rules are followed.
const GATEWAY_API: &str = "v1.7.0";

/// Print the version
#[derive(Args, Debug)]
pub(crate) struct Version {
    /// Print it for a person or for a program
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

impl Version {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let version = env!("CARGO_PKG_VERSION");
        match self.output {
            Output::Text => output::print(&format!("portcullis {version} (Gateway API {GATEWAY_API})\n"))?,
            Output::Json => output::print_json(&json!({ "version": version, "gatewayApi": GATEWAY_API }))?,
        }
        Ok(Outcome::Clean)
    }
}
