//! `portcullis status`: the conditions of each object.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use portcullis_api::Diagnostic;

use crate::controller::AccessOptions;
use crate::exit::{Failure, Outcome};
use crate::offline::Offline;
use crate::output;
use crate::render::{Paint, diagnostics_text, statuses_json, statuses_text};
use crate::statuses::{Statuses, now, status_json};

/// Show the status of each object as it would be written to a cluster, if every port could be bound
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  portcullis status examples/quickstart
  portcullis status -o json - < gateway.yaml
  portcullis status --context staging")]
pub(crate) struct Status {
    /// Files and folders (*.yaml, *.yml, *.json, recursively); - is standard input
    #[arg(value_name = "PATH", required_unless_present_any = ["kubeconfig", "context"], conflicts_with_all = ["kubeconfig", "context"])]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    access: AccessOptions,
    /// For whom to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Yaml,
}

impl Status {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let offline = Offline::open(&self.paths, &self.access)?;
        let (mut statuses, now) = (Statuses::default(), now());
        for (object, status) in &offline.resolver.resolved().statuses {
            statuses.update(object, Some(status_json(status)), &now);
        }
        let items = statuses.items();
        match self.output {
            Format::Text => output::print(&statuses_text(&items, Paint::stdout()))?,
            Format::Json => output::print_json(&statuses_json(&items))?,
            Format::Yaml => output::print(&yaml(&statuses_json(&items))?)?,
        }
        // What was refused has no status: say so where it does not disturb a program.
        let refused: Vec<Diagnostic> = offline.refusals.into_iter().filter(Diagnostic::is_error).collect();
        eprint!("{}", diagnostics_text(&refused, Paint::stderr()));
        Ok(if refused.is_empty() { Outcome::Clean } else { Outcome::Refused })
    }
}

fn yaml(value: &serde_json::Value) -> Result<String, Failure> {
    serde_saphyr::to_string(value).map_err(|error| Failure::new(format!("cannot write YAML: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// kubectl reads YAML 1.1, to which a plain `True` or `on` is a boolean.
    #[test]
    fn words_that_yaml_takes_for_something_else_are_quoted() {
        let text = yaml(&json!({"status": "True", "name": "on", "port": "80", "plain": "web"})).unwrap();
        assert_eq!(text.trim_end(), "name: \"on\"\nplain: web\nport: \"80\"\nstatus: \"True\"");
    }
}
