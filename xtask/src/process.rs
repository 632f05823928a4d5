//! Commands that are run, and what is said when they fail.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Why a task ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A program could not be started.
    #[error("cannot start `{program}`: {cause}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        cause: std::io::Error,
    },
    /// A program said no.
    #[error("`{command}` failed")]
    Exit {
        /// The command as it was run.
        command: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A test cluster could not be had.
    #[error(transparent)]
    Cluster(#[from] portcullis_cluster_testing::Error),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// A failure to read or write a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Failure {
        let path = path.into();
        move |cause| Failure::File { path, cause }
    }
}

/// The workspace's root.
#[must_use]
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

/// A command at the workspace's root.
#[must_use]
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs us, or the one on the path.
#[must_use]
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// Runs a command to its end, its output shown.
///
/// # Errors
/// When it cannot be started or exits with another code than 0.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|cause| start_failure(command, cause))?;
    if status.success() { Ok(()) } else { Err(Failure::Exit { command: describe(command) }) }
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// As [`run`].
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| start_failure(command, cause))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure::Exit { command: describe(command) })
    }
}

/// Runs one step of a longer task under a heading, and says how long it took.
///
/// # Errors
/// What the step fails with.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    println!("── {name}");
    let start = Instant::now();
    let done = work();
    let verdict = if done.is_ok() { "done" } else { "FAILED" };
    println!("── {name}: {verdict} in {:.0} s", start.elapsed().as_secs_f32());
    done
}

fn start_failure(command: &Command, cause: std::io::Error) -> Failure {
    Failure::Start { program: command.get_program().to_string_lossy().into_owned(), cause }
}

fn describe(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
