//! What is written into an object's `status`: ours, beside what others have put there.
//!
//! Pure. [`merge`] takes the status as it was read and the one that we want, [`withdraw()`] takes back what we wrote
//! on an object that is no more our concern. Both answer what to write, or that nothing differs.
//!
//! What is not ours comes back unchanged in every field. `status.parents` and `status.ancestors` name the owner of
//! each entry; conditions name none, so ours are the types that we define for the kind and level ([`Level`]).

mod conditions;
mod entries;
mod lacks;
mod level;
mod listeners;
mod withdraw;

use std::sync::Arc;

use portcullis_api::Kind;
use serde_json::{Map, Value};

pub(crate) use lacks::Lacks;
pub(crate) use withdraw::{names_no_owner, withdraw};

use level::Level;

/// Who writes, when, and what the API server keeps of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author<'a> {
    /// The `controllerName`s whose entries are ours.
    pub(crate) controllers: &'a [Arc<str>],
    /// The time for conditions whose status flips, as RFC 3339 has it.
    pub(crate) now: &'a str,
    /// Fields that the served schema lacks.
    pub(crate) lacks: &'a Lacks,
}

/// What is to be done about an object's status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Merge {
    /// Nothing differs.
    Unchanged,
    /// A condition of ours was judged on a newer generation than ours: our copy is stale, and a newer one is on its
    /// way (`docs/semantics.md` §4).
    Stale,
    /// This is the status to write.
    Write(Value),
}

impl Merge {
    fn of(before: &Value, after: Map<String, Value>) -> Merge {
        let same = match before {
            Value::Object(before) => *before == after,
            _ => after.values().all(|value| value.as_array().is_some_and(Vec::is_empty)),
        };
        if same { Merge::Unchanged } else { Merge::Write(Value::Object(after)) }
    }
}

/// Fields of a status that the controller of the object owns whole, besides its lists of conditions.
fn own_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::GatewayClass => &["supportedFeatures"],
        Kind::Gateway => &["addresses", "attachedListenerSets"],
        _ => &[],
    }
}

/// The status to write so that `desired` holds beside what others wrote.
///
/// `before` is `status` as read (null where there is none), `desired` has no `lastTransitionTime`s, and `generation`
/// is the object's `metadata.generation` as read with `before`.
pub(crate) fn merge(
    kind: Kind,
    generation: i64,
    before: &Value,
    desired: &Value,
    author: &Author<'_>,
) -> Merge {
    let mut desired = desired.clone();
    author.lacks.strip(&mut desired);
    let judged = judged_generation(&desired).unwrap_or(generation);
    let mut after = before.as_object().cloned().unwrap_or_default();
    let ours = Ours { kind, judged, author };
    let merged = match kind {
        Kind::GatewayClass | Kind::Backend | Kind::Gateway | Kind::ListenerSet => {
            ours.holder(before, &desired, &mut after)
        }
        Kind::BackendTlsPolicy => ours.entries(&entries::ANCESTORS, before, &desired, &mut after),
        _ => ours.entries(&entries::PARENTS, before, &desired, &mut after),
    };
    match merged {
        Ok(()) => Merge::of(before, after),
        Err(Newer) => Merge::Stale,
    }
}

/// A condition of ours was judged on a newer generation.
#[derive(Debug)]
struct Newer;

/// The status that we want, on its way into what is there.
struct Ours<'a> {
    kind: Kind,
    /// The generation that the desired status was judged on.
    judged: i64,
    author: &'a Author<'a>,
}

impl Ours<'_> {
    /// A status with conditions, and perhaps listeners, of its own.
    fn holder(&self, before: &Value, desired: &Value, after: &mut Map<String, Value>) -> Result<(), Newer> {
        for field in own_fields(self.kind) {
            match desired.get(field) {
                Some(value) => after.insert((*field).to_owned(), value.clone()),
                None => after.remove(*field),
            };
        }
        let level = Level::Object(self.kind);
        let conditions = self.conditions(level, list(before, "conditions"), list(desired, "conditions"))?;
        after.insert("conditions".to_owned(), conditions.into());
        if matches!(self.kind, Kind::Gateway | Kind::ListenerSet) {
            let listeners = self.listeners(list(before, "listeners"), list(desired, "listeners"))?;
            after.insert("listeners".to_owned(), listeners.into());
        }
        Ok(())
    }
}

/// The newest generation that a status says it was judged on.
fn judged_generation(status: &Value) -> Option<i64> {
    let mut holders = vec![status];
    for field in ["listeners", entries::PARENTS.field, entries::ANCESTORS.field] {
        holders.extend(list(status, field));
    }
    let conditions = holders.into_iter().flat_map(|holder| list(holder, "conditions"));
    conditions.filter_map(conditions::observed_generation).max()
}

/// A field that holds a list; empty where it is absent.
fn list<'a>(holder: &'a Value, field: &str) -> &'a [Value] {
    holder.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(holder: &'a Value, field: &str) -> Option<&'a str> {
    holder.get(field)?.as_str()
}

#[cfg(test)]
mod tests;
