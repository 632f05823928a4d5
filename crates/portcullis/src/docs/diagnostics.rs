//! The reference of diagnostics.

use std::fmt::Write;

use portcullis_api::Rule;

use crate::rules;

/// What the codes of a group are about: their first two digits.
const GROUPS: [(&str, &str); 8] = [
    ("PC01", "Files and YAML"),
    ("PC02", "Admission: what an API server would refuse"),
    ("PC03", "Classes, Gateways, listeners, ListenerSets"),
    ("PC04", "Routes"),
    ("PC05", "Backends and grants"),
    ("PC06", "TLS"),
    ("PC07", "Lint: legal, and probably a mistake"),
    ("PC08", "Engines"),
];

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Diagnostics\n\n<!-- Generated from the source by `cargo xtask docs`. -->\n\n\
         What `portcullis check`, the log and the messages of conditions can say. Codes are stable. An **error** refuses\n\
         something or keeps it from being served, a **warning** has no effect or will surprise, **info** needs no change.\n",
    );
    let rules = rules::all();
    for (prefix, title) in GROUPS {
        let group: Vec<&Rule> = rules.iter().copied().filter(|rule| rule.code.starts_with(prefix)).collect();
        if group.is_empty() {
            continue;
        }
        let _ = write!(
            page,
            "\n## {title}\n\n| code | severity | what is wrong | what to do |\n|---|---|---|---|\n"
        );
        for rule in group {
            let (summary, hint) = (cell(rule.summary), cell(rule.hint));
            let _ = writeln!(page, "| {} | {} | {summary} | {hint} |", rule.code, rule.severity);
        }
    }
    page
}

/// Text as a cell of a table holds it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
