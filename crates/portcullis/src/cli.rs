//! The command line: which commands there are. Each command's options are beside its code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::check::Check;
use crate::completions::Completions;
use crate::controller::Controller;
use crate::docs::Docs;
use crate::echo::Echo;
use crate::exit;
use crate::explain::Explain;
use crate::run::Run;
use crate::status::Status;
use crate::version::Version;

/// The Kubernetes Gateway API: decide what resources mean, and serve by them
#[derive(Parser, Debug)]
#[command(name = "portcullis", version, propagate_version = false, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(Box<Run>),
    Controller(Box<Controller>),
    Check(Check),
    Status(Status),
    Explain(Explain),
    Echo(Echo),
    Version(Version),
    Completions(Completions),
    #[command(hide = true)]
    Docs(Docs),
}

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    exit::code(match cli.command {
        Command::Run(command) => command.run(),
        Command::Controller(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Echo(command) => command.run(),
        Command::Version(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Docs(command) => command.run(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
