//! The reference of commands, as `--help` has them.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::cli::Cli;

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Commands\n\n<!-- Generated from the source by `cargo xtask docs`. -->\n\n\
         Exit codes: 0 done, 1 refused or failed, 2 a command line that makes no sense. Colours appear on a terminal\n\
         only, and not with `NO_COLOR`.\n",
    );
    let mut cli = Cli::command();
    cli.build();
    for command in
        cli.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        section(&mut page, command);
    }
    page
}

fn section(page: &mut String, command: &Command) {
    let help = command.clone().term_width(100).render_help().to_string();
    let name = command.get_name();
    let _ = write!(page, "\n## portcullis {name}\n\n```text\n");
    for line in help.lines() {
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n");
}
