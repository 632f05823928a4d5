//! What is legal, and probably not what was meant.

mod certificates;
mod rules;
mod shadowed;
mod unused;

use portcullis_api::Diagnostic;
use portcullis_resolve::Resolved;
use portcullis_store::Store;

pub(crate) use rules::RULES;

/// Looks at what was resolved, at a time given in seconds of the Unix epoch.
pub(crate) fn lint(store: &Store, resolved: &Resolved, now: i64) -> Vec<Diagnostic> {
    let mut found = certificates::lint(&resolved.model, now);
    found.extend(shadowed::lint(&resolved.model));
    found.extend(unused::lint(store, resolved));
    found
}

#[cfg(test)]
mod tests;
