//! Statuses as a cluster would hold them: with the time of each condition's last transition, and what changed.

use std::collections::BTreeMap;

use jiff::{Timestamp, Unit};
use portcullis_api::ObjectKey;
use portcullis_resolve::Status;
use serde_json::Value;

use crate::render::Item;

pub(crate) use crate::render::is_good;

/// The time as conditions have it: whole seconds.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

/// A status as the API has it.
pub(crate) fn status_json(status: &Status) -> Value {
    let json = match status {
        Status::GatewayClass(status) => serde_json::to_value(status),
        Status::Gateway(status) => serde_json::to_value(status),
        Status::ListenerSet(status) => serde_json::to_value(status),
        Status::Route(status) => serde_json::to_value(status),
        Status::Policy(status) => serde_json::to_value(status),
    };
    json.unwrap_or_default()
}

/// Lists of a status whose entries have conditions of their own, and the field that tells the entries apart.
const PARTS: [(&str, &str); 3] =
    [("listeners", "name"), ("parents", "parentRef"), ("ancestors", "ancestorRef")];

/// The latest status of each object.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    latest: BTreeMap<ObjectKey, Value>,
    /// What conditions were that are `Unknown` now, by object, part and type.
    definite: BTreeMap<(ObjectKey, String, String), String>,
}

/// A condition that is new, or has another status or reason than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flip {
    /// The object.
    pub(crate) object: ObjectKey,
    /// The part of the object, such as a listener's name; empty for the object itself.
    pub(crate) part: String,
    /// The condition's type.
    pub(crate) condition: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    /// Why, in a word.
    pub(crate) reason: String,
    /// Why, in a sentence.
    pub(crate) message: String,
    /// `True` or `False`, whichever it was last, if the condition has been there since.
    pub(crate) before: Option<String>,
}

impl Statuses {
    /// Takes an object's status, or that it has none any more; gives what flipped. `lastTransitionTime` moves only
    /// where a condition's status does (KEP-1623).
    pub(crate) fn update(&mut self, object: &ObjectKey, status: Option<Value>, now: &str) -> Vec<Flip> {
        let Some(mut status) = status else {
            self.latest.remove(object);
            self.definite.retain(|(known, ..), _| known != object);
            return Vec::new();
        };
        let before = self.latest.get(object).unwrap_or(&Value::Null);
        let mut flips = Vec::new();
        let mut settle = |part: String, before: Option<&Value>, after: &mut Value| {
            settle(before, after, now, |condition, known| flips.push(flip(object, &part, condition, known)));
        };
        settle(String::new(), Some(before), &mut status);
        for (list, name) in PARTS {
            for entry in status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let known = before.get(list).and_then(Value::as_array).into_iter().flatten();
                let known = known.into_iter().find(|known| known.get(name) == entry.get(name));
                settle(part_name(entry.get(name)), known, entry);
            }
        }
        self.latest.insert(object.clone(), status);
        flips.iter_mut().for_each(|flip| self.see_through_unknown(flip));
        flips
    }

    /// What can be told again is compared with what was told last, not with the pause between.
    fn see_through_unknown(&mut self, flip: &mut Flip) {
        let key = (flip.object.clone(), flip.part.clone(), flip.condition.clone());
        let definite = self.definite.remove(&key);
        if flip.before.as_deref() == Some("Unknown") {
            flip.before = definite;
        }
        if flip.status == "Unknown"
            && let Some(before) = &flip.before
        {
            self.definite.insert(key, before.clone());
        }
    }

    /// All of them, by kind, namespace and name.
    pub(crate) fn items(&self) -> Vec<Item> {
        let items = self.latest.iter();
        items.map(|(object, status)| Item { object: object.clone(), status: status.clone() }).collect()
    }
}

/// Gives each condition of `after` the time of its last transition and tells which differ from `before`.
fn settle(
    before: Option<&Value>,
    after: &mut Value,
    now: &str,
    mut tell: impl FnMut(&Value, Option<&Value>),
) {
    let known = before.and_then(|holder| holder.get("conditions")).and_then(Value::as_array);
    let conditions = after.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let known = known.into_iter().flatten().find(|known| known.get("type") == condition.get("type"));
        let same_status = known.filter(|known| known.get("status") == condition.get("status"));
        let since = same_status.and_then(|known| known.get("lastTransitionTime")).and_then(Value::as_str);
        let since = Value::from(since.unwrap_or(now));
        if let Some(fields) = condition.as_object_mut() {
            fields.insert("lastTransitionTime".to_owned(), since);
        }
        if same_status.is_none_or(|known| known.get("reason") != condition.get("reason")) {
            tell(condition, known);
        }
    }
}

fn flip(object: &ObjectKey, part: &str, condition: &Value, before: Option<&Value>) -> Flip {
    let string = |field| condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let before = before.and_then(|condition| condition.get("status")?.as_str());
    Flip {
        object: object.clone(),
        part: part.to_owned(),
        condition: string("type"),
        status: string("status"),
        reason: string("reason"),
        message: string("message"),
        before: before.map(str::to_owned),
    }
}

/// The name of a listener, or `namespace/name` of a parent.
fn part_name(name: Option<&Value>) -> String {
    match name {
        Some(Value::String(name)) => name.clone(),
        Some(reference) => {
            let parts = ["namespace", "name", "sectionName"].map(|field| reference.get(field)?.as_str());
            parts.into_iter().flatten().collect::<Vec<_>>().join("/")
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use portcullis_api::Kind;
    use serde_json::json;

    use super::*;

    fn status(accepted: &str, reason: &str) -> Value {
        let condition = json!({"type": "Accepted", "status": accepted, "reason": reason, "message": "m"});
        json!({"listeners": [{"name": "http", "conditions": [condition]}], "conditions": []})
    }

    fn time(statuses: &Statuses) -> String {
        statuses.items()[0].status["listeners"][0]["conditions"][0]["lastTransitionTime"]
            .as_str()
            .unwrap()
            .into()
    }

    #[test]
    fn the_transition_time_moves_only_when_the_status_flips() {
        let gateway = ObjectKey::new(Kind::Gateway, "edge", "web");
        let mut statuses = Statuses::default();
        let flips = statuses.update(&gateway, Some(status("True", "Accepted")), "1");
        assert_eq!((flips.len(), &flips[0].before, flips[0].part.as_str()), (1, &None, "http"));
        assert_eq!(statuses.update(&gateway, Some(status("True", "Accepted")), "2"), []);
        assert_eq!(time(&statuses), "1");
        let flips = statuses.update(&gateway, Some(status("True", "Other")), "3");
        assert_eq!((flips[0].reason.as_str(), flips[0].before.as_deref()), ("Other", Some("True")));
        assert_eq!(time(&statuses), "1");
        statuses.update(&gateway, Some(status("False", "Other")), "4");
        assert_eq!(time(&statuses), "4");
        statuses.update(&gateway, None, "5");
        assert_eq!(statuses.items(), []);
    }

    /// A listener that recovers is Unknown until its port is bound, and its recovery is news all the same.
    #[test]
    fn a_flip_from_unknown_tells_what_was_before_that() {
        let gateway = ObjectKey::new(Kind::Gateway, "edge", "web");
        let mut statuses = Statuses::default();
        let mut before = |accepted, reason| {
            let flips = statuses.update(&gateway, Some(status(accepted, reason)), "1");
            flips[0].before.clone()
        };
        assert_eq!(before("Unknown", "Pending"), None);
        assert_eq!(before("False", "Invalid"), None);
        assert_eq!(before("Unknown", "Pending").as_deref(), Some("False"));
        assert_eq!(before("Unknown", "Waiting").as_deref(), Some("False"));
        assert_eq!(before("True", "Accepted").as_deref(), Some("False"));
        assert_eq!(before("False", "Invalid").as_deref(), Some("True"));
        assert_eq!(before("Unknown", "Pending").as_deref(), Some("False"));
        statuses.update(&gateway, None, "2");
        let flips = statuses.update(&gateway, Some(status("True", "Accepted")), "3");
        assert_eq!(flips[0].before, None);
    }
}
