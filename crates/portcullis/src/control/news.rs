//! What the log says of a change: a line a cause, and no more lines of a sort than anybody reads.

use std::collections::BTreeMap;

use portcullis_api::{Diagnostic, Kind, ObjectKey, Severity};
use portcullis_files::Sources;
use portcullis_store::{Change, Store};

use crate::statuses::{Flip, is_good};

/// Lines of one sort that one change may log.
const LINES: usize = 10;
/// Names that a line lists.
const NAMES: usize = 3;
/// Reasons that only sum up what the conditions of an object's listeners say.
const SUMS: [&str; 3] = ["ListenersNotValid", "ListenersNotResolved", "Invalid"];

/// The lines of one change, counted by what they are about.
#[derive(Debug, Default)]
pub(super) struct News {
    wrong: BTreeMap<String, usize>,
    mended: BTreeMap<String, usize>,
}

impl News {
    /// What flipped at an object: a line for conditions of one part that give the same message. What comes true as
    /// one wishes is news only where it was false, and what cannot be told yet is none. `known` are messages that
    /// the log has already.
    pub(super) fn flips(&mut self, flips: &[Flip], known: &[&str]) {
        let is_bad = |flip: &Flip| flip.status != "Unknown" && !is_good(&flip.condition, &flip.status);
        let parts_are_bad = flips.iter().any(|flip| is_bad(flip) && !flip.part.is_empty());
        let is_told = |flip: &Flip| {
            let is_sum = flip.part.is_empty() && parts_are_bad && SUMS.contains(&flip.reason.as_str());
            is_sum || known.iter().any(|message| flip.message.contains(message))
        };
        for together in flips.chunk_by(|one, next| (&one.part, &one.message) == (&next.part, &next.message)) {
            let Some(Flip { object, part, message, .. }) = together.first() else { continue };
            let part = (!part.is_empty()).then_some(part);
            if let Some(bad) = verdicts(together, |flip| is_bad(flip) && !is_told(flip))
                && is_shown(&mut self.wrong, &bad)
            {
                tracing::warn!(%object, part, "{bad}: {message}");
            }
            if let Some(mended) = verdicts(together, is_mended)
                && is_shown(&mut self.mended, &mended)
            {
                tracing::info!(%object, part, "{mended}");
            }
        }
    }

    /// A finding that no condition carries and that is new.
    pub(super) fn finding(&mut self, object: &ObjectKey, finding: &Diagnostic) {
        if is_shown(&mut self.wrong, finding.rule.code) {
            let place = finding.position.as_ref().map(tracing::field::display);
            tracing::warn!(%object, code = finding.rule.code, place, "{}", finding.message);
        }
    }

    /// A finding that is gone though its object is not.
    pub(super) fn recovery(&mut self, object: &ObjectKey, finding: &Diagnostic) {
        if is_shown(&mut self.mended, finding.rule.code) {
            tracing::info!(%object, code = finding.rule.code, "no longer: {}", finding.message);
        }
    }

    /// Says how much was left out.
    pub(super) fn end(self) {
        for (sort, count) in self.wrong.into_iter().filter(|(_, count)| *count > LINES) {
            tracing::warn!("{sort}: and {} more; `portcullis check` lists all", count - LINES);
        }
        for (sort, count) in self.mended.into_iter().filter(|(_, count)| *count > LINES) {
            tracing::info!("{sort}: and {} more", count - LINES);
        }
    }
}

/// Counts a line of a sort; says whether it is to be logged.
fn is_shown(counts: &mut BTreeMap<String, usize>, sort: &str) -> bool {
    let count = counts.entry(sort.to_owned()).or_default();
    *count += 1;
    *count <= LINES
}

fn verdicts(flips: &[Flip], wanted: impl Fn(&Flip) -> bool) -> Option<String> {
    let verdicts = flips.iter().filter(|flip| wanted(flip));
    let verdicts = verdicts.map(|flip| format!("{}={}/{}", flip.condition, flip.status, flip.reason));
    Some(verdicts.collect::<Vec<_>>().join(" ")).filter(|verdicts| !verdicts.is_empty())
}

fn is_mended(flip: &Flip) -> bool {
    let was_bad = flip.before.as_deref().is_some_and(|before| !is_good(&flip.condition, before));
    was_bad && is_good(&flip.condition, &flip.status)
}

/// Whether a finding is worth a line of the log: conditions say what is refused, and notes are for `check`.
pub(super) fn is_news(finding: &Diagnostic) -> bool {
    finding.severity() == Severity::Warning
}

/// What changes of files come to, such as `1 added (Gateway/default/web), 2 removed (…)`; none if they change no
/// object that is written in them.
pub(super) fn summary(changes: &[Change], store: &Store, sources: &Sources) -> Option<String> {
    let (mut added, mut changed, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        match change {
            Change::Put(object) => {
                let key = object.key();
                if sources.locate(&key, &portcullis_api::FieldPath::ROOT).is_none() {
                    continue; // a Namespace that no file defines
                }
                if store.get(&key).is_some() { &mut changed } else { &mut added }.push(key);
            }
            Change::Remove(key) if key.kind != Kind::Namespace => removed.push(key.clone()),
            Change::Remove(_) | Change::Report(_) | Change::Retract(_) => {}
        }
    }
    let parts = [(added, "added"), (changed, "changed"), (removed, "removed")];
    let parts = parts.iter().filter(|(keys, _)| !keys.is_empty());
    let parts = parts.map(|(keys, what)| format!("{} {what} ({})", keys.len(), names(keys)));
    Some(parts.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

fn names(keys: &[ObjectKey]) -> String {
    let mut names: Vec<String> = keys.iter().take(NAMES).map(ToString::to_string).collect();
    if keys.len() > NAMES {
        names.push(format!("and {} more", keys.len() - NAMES));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests;
