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
        let wrong: BTreeSet<String> = diagnostics.iter().map(text).collect();
        for diagnostic in diagnostics.iter().filter(|diagnostic| !self.wrong.contains(&text(diagnostic))) {
            log(diagnostic);
        }
        if wrong.is_empty() && !self.wrong.is_empty() {
            tracing::info!("all files are good again");
        }
        self.wrong = wrong;
    }
}

fn text(diagnostic: &Diagnostic) -> String {
    match &diagnostic.position {
        Some(position) => format!("{position}: {diagnostic}"),
        None => diagnostic.to_string(),
    }
}

fn log(diagnostic: &Diagnostic) {
    let place = diagnostic.position.as_ref().map(tracing::field::display);
    let (code, hint) = (diagnostic.rule.code, diagnostic.hint());
    match diagnostic.severity() {
        Severity::Error => tracing::error!(place, code, hint, "{}", diagnostic.message),
        Severity::Warning => tracing::warn!(place, code, hint, "{}", diagnostic.message),
        Severity::Info => tracing::debug!(place, code, hint, "{}", diagnostic.message),
    }
}
