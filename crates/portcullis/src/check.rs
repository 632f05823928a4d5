//! `portcullis check`: what an API server would refuse, what resolution says, and lint.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use portcullis_api::{Diagnostic, Severity};

use crate::exit::{Failure, Outcome};
use crate::lint;
use crate::offline::Offline;
use crate::output;
use crate::render::{Paint, diagnostics_json, diagnostics_text, sarif, tally};

/// Say what is wrong with resources: what an API server would refuse, what they would not do, and lint
#[derive(Args, Debug)]
#[command(after_help = "Exit code 0: nothing wrong, or warnings. 1: errors. 2: wrong usage.

Examples:
  portcullis check /etc/portcullis
  kubectl kustomize overlays/prod | portcullis check -
  portcullis check -o sarif deploy > portcullis.sarif")]
pub(crate) struct Check {
    /// Files and folders (*.yaml, *.yml, *.json, recursively); - is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// For whom to print it: a person, a program, or a code host
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// Show notes as text too: what is worth knowing though nothing needs to change
    #[arg(long)]
    notes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
}

impl Check {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let offline = Offline::read(&self.paths);
        let found = findings(&offline, Timestamp::now().as_second());
        match self.output {
            Format::Text => output::print(&text(&found, self.notes, offline.written(), Paint::stdout()))?,
            Format::Json => output::print_json(&diagnostics_json(&found))?,
            Format::Sarif => output::print_json(&sarif(&found))?,
        }
        let refused = found.iter().any(Diagnostic::is_error);
        Ok(if refused { Outcome::Refused } else { Outcome::Clean })
    }
}

/// Everything, by place, then gravity.
fn findings(offline: &Offline, now: i64) -> Vec<Diagnostic> {
    let mut found = offline.diagnostics();
    let lint = lint::lint(&offline.store, offline.resolver.resolved(), now);
    found.extend(lint.into_iter().map(|finding| offline.sources.place(finding)));
    found.sort_by(|one, other| {
        let order = |found: &Diagnostic| (found.position.is_none(), found.position.clone());
        order(one).cmp(&order(other)).then_with(|| other.severity().cmp(&one.severity()))
    });
    found
}

/// Notes are counted, and shown where they are asked for: nothing needs to change for them.
fn text(found: &[Diagnostic], notes: bool, objects: usize, paint: Paint) -> String {
    let is_shown = |finding: &&Diagnostic| notes || finding.severity() > Severity::Info;
    let shown: Vec<Diagnostic> = found.iter().filter(is_shown).cloned().collect();
    let summary = match tally(found) {
        nothing if nothing.is_empty() => paint.good("nothing to report").to_string(),
        tally if shown.len() < found.len() => format!("{tally} (notes with --notes)"),
        tally => tally,
    };
    let missing = found.iter().any(|finding| finding.is_error() && is_admission(finding));
    let missing = if missing { "; what is refused counts as missing for the rest" } else { "" };
    let plural = if objects == 1 { "object" } else { "objects" };
    format!("{}{objects} {plural}: {summary}{missing}\n", diagnostics_text(&shown, paint))
}

/// Whether a finding says what an API server would refuse (`PC02xx`), so that nothing else can refer to the object.
fn is_admission(finding: &Diagnostic) -> bool {
    finding.rule.code.starts_with("PC02")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(yaml: &str) -> String {
        let (offline, _) = Offline::of(yaml);
        text(&findings(&offline, 0), false, offline.written(), Paint::PLAIN)
    }

    #[test]
    fn the_last_line_counts_what_the_files_hold() {
        let service = |port| {
            format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec: {{ports: [{{port: {port}}}]}}\n"
            )
        };
        assert_eq!(checked(&service("80")), "1 object: 1 note (notes with --notes)\n");
        let refused = checked(&service("'80'"));
        let last = "\n0 objects: 1 error; what is refused counts as missing for the rest\n";
        assert!(refused.ends_with(last), "{refused}");
    }
}
