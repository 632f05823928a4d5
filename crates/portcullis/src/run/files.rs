//! What the files say from now on, and what is wrong with them.

use std::collections::BTreeSet;

use portcullis_api::{Diagnostic, Severity};
use portcullis_files::Watcher;
use portcullis_store::Change;

/// Files that are followed.
pub(super) struct Files {
    /// None once nothing can change any more, as with standard input.
    watcher: Option<Watcher>,
    /// What is wrong with them, as it was last logged.
    wrong: BTreeSet<String>,
}

impl Files {
    /// Follows files that were read with these findings.
    pub(super) fn new(watcher: Watcher, diagnostics: &[Diagnostic]) -> Self {
        let mut files = Self { watcher: Some(watcher), wrong: BTreeSet::new() };
        files.tell(diagnostics);
        files
    }

    /// The next changes; never, once nothing can change any more. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Vec<Change> {
        while let Some(watcher) = &mut self.watcher {
            match watcher.next().await {
                Some(update) => {
                    self.tell(&update.diagnostics);
                    return update.changes;
                }
                None => self.watcher = None,
            }
        }
        std::future::pending().await
    }

    /// Logs what is newly wrong, and when all is well again.
    fn tell(&mut self, diagnostics: &[Diagnostic]) {
        let wrong = wrong(diagnostics);
        for diagnostic in diagnostics {
            let text = text(diagnostic);
            if wrong.contains(&text) && !self.wrong.contains(&text) {
                log(diagnostic);
            }
        }
        if wrong.is_empty() && !self.wrong.is_empty() {
            tracing::info!("all files are good again");
        }
        self.wrong = wrong;
    }
}

/// What needs a change. Notes are for `check`: files that have some are good.
fn wrong(diagnostics: &[Diagnostic]) -> BTreeSet<String> {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity() > Severity::Info).map(text).collect()
}

fn text(diagnostic: &Diagnostic) -> String {
    match &diagnostic.position {
        Some(position) => format!("{position}: {diagnostic}"),
        None => diagnostic.to_string(),
    }
}

fn log(diagnostic: &Diagnostic) {
    let place = diagnostic.position.as_ref().map(tracing::field::display);
    let object = diagnostic.subject().map(tracing::field::display);
    let path = (!diagnostic.path.is_root()).then(|| tracing::field::display(&diagnostic.path));
    let (code, hint) = (diagnostic.rule.code, diagnostic.hint());
    if diagnostic.is_error() {
        tracing::error!(place, object, path, code, hint, "{}", diagnostic.message);
    } else {
        tracing::warn!(place, object, path, code, hint, "{}", diagnostic.message);
    }
}

#[cfg(test)]
mod tests {
    use portcullis_api::{FieldPath, Rule};

    use super::*;

    static NOTE: Rule = Rule { code: "PC0219", severity: Severity::Info, summary: "", hint: "" };
    static REFUSED: Rule = Rule { code: "PC0203", severity: Severity::Error, summary: "", hint: "" };

    #[test]
    fn files_with_notes_are_good() {
        let found = [&NOTE, &REFUSED].map(|rule| Diagnostic::new(rule, FieldPath::ROOT, "message"));
        assert_eq!(wrong(&found).len(), 1);
        assert_eq!(wrong(&found[..1]), BTreeSet::new());
    }
}
