//! Lists of conditions: ours replaced by type, others kept.

use portcullis_api::status::MAX_CONDITIONS;
use serde_json::Value;

use super::level::Level;
use super::{Newer, Ours, text};

pub(super) fn observed_generation(condition: &Value) -> Option<i64> {
    condition.get("observedGeneration")?.as_i64()
}

impl Ours<'_> {
    /// The conditions to write: each in its place if it was there, new ones at the end.
    ///
    /// Where the list is full, others' conditions stay and the last of ours find no room.
    pub(super) fn conditions(
        &self,
        level: Level,
        before: &[Value],
        desired: &[Value],
    ) -> Result<Vec<Value>, Newer> {
        let is_ours = |condition: &Value| {
            let named = text(condition, "type").unwrap_or_default();
            level.types().contains(&named) || desired.iter().any(|ours| text(ours, "type") == Some(named))
        };
        let foreign = before.iter().filter(|condition| !is_ours(condition)).count();
        let room = MAX_CONDITIONS.saturating_sub(foreign);
        let mut wanted: Vec<Option<&Value>> = desired.iter().take(room).map(Some).collect();
        let mut after = Vec::with_capacity(before.len().max(wanted.len()));
        for condition in before {
            if !is_ours(condition) {
                after.push(condition.clone());
                continue;
            }
            if observed_generation(condition) > Some(self.judged) {
                return Err(Newer);
            }
            let slot = wanted.iter_mut().find(|slot| slot.is_some_and(|ours| same_type(ours, condition)));
            if let Some(ours) = slot.and_then(Option::take) {
                after.push(self.dated(ours, Some(condition)));
            }
        }
        after.extend(wanted.into_iter().flatten().map(|ours| self.dated(ours, None)));
        Ok(after)
    }

    /// A condition with the time of its last transition: that of the condition before it, unless the status flips.
    fn dated(&self, ours: &Value, before: Option<&Value>) -> Value {
        let same_status = before.filter(|before| before.get("status") == ours.get("status"));
        let since = same_status.and_then(|before| text(before, "lastTransitionTime"));
        let mut dated = ours.clone();
        if let Some(fields) = dated.as_object_mut() {
            fields.insert("lastTransitionTime".to_owned(), since.unwrap_or(self.author.now).into());
        }
        dated
    }
}

fn same_type(one: &Value, other: &Value) -> bool {
    one.get("type") == other.get("type")
}
