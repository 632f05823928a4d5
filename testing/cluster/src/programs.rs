//! Programs that are run to their end.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::Error;

/// Runs a command and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let output = command_output(command)?;
    finish(command, &output)
}

/// As [`output`], with a text on its standard input.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<String, Error> {
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|cause| start_failure(command, cause))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why on standard error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|cause| start_failure(command, cause))?;
    finish(command, &output)
}

/// The command as a person would write it.
pub(crate) fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn start_failure(command: &Command, cause: std::io::Error) -> Error {
    Error::Start { program: command.get_program().to_string_lossy().into_owned(), cause }
}

fn command_output(command: &mut Command) -> Result<Output, Error> {
    command.stdin(Stdio::null()).output().map_err(|cause| start_failure(command, cause))
}

fn finish(command: &Command, output: &Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Exit { command: describe(command), said })
}
