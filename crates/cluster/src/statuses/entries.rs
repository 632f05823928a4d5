//! `status.parents` and `status.ancestors`: lists in which every controller has entries of its own.

use serde_json::{Map, Value};

use super::level::Level;
use super::{Newer, Ours, list, text};

/// One of the two lists. Both are atomic to the API server, so they are read, merged and written whole.
#[derive(Debug)]
pub(super) struct Entries {
    /// The list's field.
    pub(super) field: &'static str,
    /// What an entry is about.
    reference: &'static str,
    level: Level,
    /// How many entries the CRDs admit.
    max: usize,
}

/// Of routes.
pub(super) const PARENTS: Entries =
    Entries { field: "parents", reference: "parentRef", level: Level::Parent, max: 32 };

/// Of policies.
pub(super) const ANCESTORS: Entries =
    Entries { field: "ancestors", reference: "ancestorRef", level: Level::Ancestor, max: 16 };

impl Ours<'_> {
    /// Replaces our entries and keeps the others, in the order in which they stand.
    ///
    /// An entry is told by its whole reference, sectionName and port included, and its controllerName. Where the
    /// list is full, others' entries stay and the last of ours find no room.
    pub(super) fn entries(
        &self,
        entries: &Entries,
        before: &Value,
        desired: &Value,
        after: &mut Map<String, Value>,
    ) -> Result<(), Newer> {
        let (before, desired) = (list(before, entries.field), list(desired, entries.field));
        let foreign = before.iter().filter(|entry| !self.is_ours(entry)).count();
        let room = entries.max.saturating_sub(foreign);
        let mut wanted: Vec<Option<&Value>> = desired.iter().take(room).map(Some).collect();
        let mut merged = Vec::with_capacity(foreign + wanted.len());
        for entry in before {
            if !self.is_ours(entry) {
                merged.push(entry.clone());
                continue;
            }
            let slot = wanted.iter_mut().find(|slot| slot.is_some_and(|ours| entries.same(ours, entry)));
            let ours = slot.and_then(Option::take);
            let conditions = self.conditions(
                entries.level,
                list(entry, "conditions"),
                ours.map_or(&[], |ours| list(ours, "conditions")),
            )?;
            merged.extend(ours.map(|ours| with_conditions(ours, conditions)));
        }
        for ours in wanted.into_iter().flatten() {
            let conditions = self.conditions(entries.level, &[], list(ours, "conditions"))?;
            merged.push(with_conditions(ours, conditions));
        }
        after.insert(entries.field.to_owned(), merged.into());
        Ok(())
    }

    fn is_ours(&self, entry: &Value) -> bool {
        let controller = text(entry, "controllerName");
        self.author.controllers.iter().any(|ours| Some(&**ours) == controller)
    }
}

impl Entries {
    fn same(&self, one: &Value, other: &Value) -> bool {
        let reference = |entry: &Value| entry.get(self.reference).map(Reference::of);
        one.get("controllerName") == other.get("controllerName") && reference(one) == reference(other)
    }
}

/// A reference to a parent, with the defaults that its fields have in the CRDs.
#[derive(PartialEq, Eq)]
struct Reference {
    texts: [Option<String>; 5],
    port: Option<i64>,
}

impl Reference {
    fn of(reference: &Value) -> Reference {
        let or = |field, default: Option<&str>| text(reference, field).or(default).map(str::to_owned);
        Reference {
            texts: [
                or("group", Some(portcullis_api::kind::GATEWAY_API)),
                or("kind", Some("Gateway")),
                or("namespace", None),
                or("name", None),
                or("sectionName", None),
            ],
            port: reference.get("port").and_then(Value::as_i64),
        }
    }
}

fn with_conditions(entry: &Value, conditions: Vec<Value>) -> Value {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    entry
}
