//! How a command ends: its exit code, or what went wrong and what to do about it.

use std::process::ExitCode;

use crate::render::Paint;

/// How a command ends where nothing prevented it from doing its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Clean,
    /// The work was done and its result is bad news.
    Refused,
}

/// What prevented a command from doing its work.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

/// The exit code of a command whose result is bad news, or whose work could not be done.
const REFUSED: u8 = 1;
/// The exit code of a command line that makes no sense; clap uses the same.
const USAGE: u8 = 2;

impl Failure {
    /// The command cannot do its work.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: without_numbers(&message.into()), hint: None, code: REFUSED }
    }

    /// The command line asks for what cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, ..Self::new(message) }
    }

    /// The same failure, and what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A text in which errors of the operating system have lost their number: `(os error 98)` tells a user nothing.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

/// The exit code of the process; a failure is printed to standard error.
pub(crate) fn code(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Refused) => ExitCode::from(REFUSED),
        Err(failure) => {
            let paint = Paint::stderr();
            eprintln!("{}: {}", paint.error("error"), failure.message);
            if let Some(hint) = &failure.hint {
                eprintln!("  {}: {hint}", paint.hint("hint"));
            }
            ExitCode::from(failure.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_tells_what_happened_without_its_number() {
        let message = |text: &str| Failure::new(text).to_string();
        assert_eq!(
            message("cannot listen on a: Address already in use (os error 98)"),
            "cannot listen on a: Address already in use"
        );
        assert_eq!(message("one (os error 1), two (os error 2)!"), "one, two!");
        assert_eq!(message("plain"), "plain");
    }
}
