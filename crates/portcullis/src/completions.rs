//! `portcullis completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Failure, Outcome};
use crate::output;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  portcullis completions bash > ~/.local/share/bash-completion/completions/portcullis
  portcullis completions zsh > ~/.zfunc/_portcullis
  portcullis completions fish > ~/.config/fish/completions/portcullis.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "portcullis", &mut script);
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Clean)
    }
}
