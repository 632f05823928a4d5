//! Portcullis's own log, on standard error.

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::exit::Failure;
use crate::render::Paint;

/// What is logged and how.
#[derive(Args, Debug)]
pub(crate) struct LogOptions {
    /// What to log: error, warn, info, debug or trace, also per part (info,portcullis_proxy=debug)
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// How to write the log
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    // One readable line an event.
    Text,
    // One JSON object an event.
    Json,
}

impl LogOptions {
    /// Begins logging. To be called once.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        let filter = EnvFilter::try_new(&self.log).map_err(|error| {
            Failure::usage(format!("--log {}: {error}", self.log))
                .hint("for example --log info,portcullis_proxy=debug")
        })?;
        let log =
            tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
        match self.log_format {
            LogFormat::Text => log.with_ansi(Paint::stderr() != Paint::PLAIN).init(),
            LogFormat::Json => log.json().flatten_event(true).init(),
        }
        Ok(())
    }
}
