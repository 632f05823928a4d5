//! Portcullis's own log, on standard error.

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

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
        let filter = filter(&self.log).map_err(|error| {
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

/// A filter as documented: a bare word is a level. To [`EnvFilter`] it may also be a part, and a misspelt level would
/// silence everything else.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let words = text.split(',').map(str::trim);
    if let Some(word) =
        words.filter(|word| !word.contains('=')).find(|word| word.parse::<LevelFilter>().is_err())
    {
        return Err(format!("{word:?} is none of off, error, warn, info, debug and trace"));
    }
    EnvFilter::try_new(format!("{QUIET},{text}")).map_err(|error| error.to_string())
}

/// Libraries that warn of what is no news here, or of what any peer may do as often as it likes: the log must not be
/// a client's to fill. `notify` tells of folders that are gone, `kube_runtime` of each try of a watch that we tell of
/// once, the others of faults in what they receive, which are counted by reason.
const QUIET: &str = "notify=error,kube_runtime=error,h2=error,rustls=error";

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that sends a PING acknowledgement unasked makes `h2` warn, each time.
    #[test]
    fn what_a_peer_sends_is_not_logged_by_libraries() {
        let quiet = filter("info").unwrap().to_string();
        assert!(quiet.contains("h2=error") && quiet.contains("rustls=error"), "{quiet}");
        assert!(filter("info,h2=debug").unwrap().to_string().contains("h2=debug"), "who asks for it gets it");
    }

    #[test]
    fn a_bare_word_is_a_level() {
        assert_eq!(
            filter("inof").unwrap_err(),
            r#""inof" is none of off, error, warn, info, debug and trace"#
        );
        assert!(filter("portcullis_proxy").is_err());
        assert!(filter("info,portcullis_proxy=loud").is_err());
        assert_eq!(filter("info,portcullis_proxy=debug").unwrap().max_level_hint(), Some(LevelFilter::DEBUG));
    }
}
