//! Running the system's tools: `ip`, `nsenter`, `unshare`.

use std::{io, process::Stdio};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
};

/// A tool that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It cannot be started, or talked to.
    #[error("{tool}: {cause}")]
    Start {
        /// Its name.
        tool: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It says that it failed.
    #[error("{tool}: {message}")]
    Failed {
        /// Its name.
        tool: String,
        /// What it printed.
        message: String,
    },
}

impl ToolError {
    pub(crate) fn failed(tool: &str, message: impl Into<String>) -> Self {
        Self::Failed { tool: tool.to_owned(), message: message.into() }
    }
}

/// Runs a tool to its end, with a text as its standard input, and gives its standard output.
pub(crate) async fn run(command: &mut Command, input: &str) -> Result<String, ToolError> {
    let tool = command.as_std().get_program().to_string_lossy().into_owned();
    let broken = |cause| ToolError::Start { tool: tool.clone(), cause };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(broken)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.map_err(broken)?;
    }
    let output = child.wait_with_output().await.map_err(broken)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ToolError::Failed { tool, message })
}

/// Starts a tool that runs on, and dies with this program at the latest.
pub(crate) fn start(command: &mut Command) -> Result<Child, ToolError> {
    let tool = command.as_std().get_program().to_string_lossy().into_owned();
    command.kill_on_drop(true).spawn().map_err(|cause| ToolError::Start { tool, cause })
}
