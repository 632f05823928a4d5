//! Keys: what they are as text, merge keys, and that none is there twice.

use super::number::Number;
use super::scalar::Resolved;
use super::{Content, Entry, Fault, Node, Place, Scalar};
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

/// The merge key of YAML 1.1.
pub(super) const MERGE: &str = "<<";

pub(super) struct Key {
    pub(super) node: Node,
    /// It is `<<`, unquoted and untagged.
    pub(super) merge: bool,
}

pub(super) struct Pair {
    pub(super) key: Key,
    pub(super) value: Node,
}

/// The entries of a mapping whose pairs were written in this order.
///
/// As in kubectl's parser a merged value wins over what stands before its `<<` and loses to what stands
/// after it; a key written twice by hand is a fault.
pub(super) fn entries(pairs: Vec<Pair>, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let mut mapping = Mapping::default();
    for Pair { key, value } in pairs {
        if key.merge {
            mapping.merge(value, faults);
        } else {
            match text(&key.node) {
                Ok(name) => mapping.written(Entry { key: name, place: key.node.place, value }, faults),
                Err((message, hint)) => {
                    let hint = hint.map(str::to_owned);
                    faults.push(Fault { place: key.node.place, message, hint });
                }
            }
        }
    }
    mapping.entries
}

/// What files that were written one behind the other lack.
const NEXT_DOCUMENT: &str = "remove one of them, or write --- before it if another object begins here";

#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    /// Where each key is in `entries`, and where it was written in this mapping itself.
    index: HashMap<Box<str>, (usize, Option<Place>)>,
}

impl Mapping {
    fn written(&mut self, entry: Entry, faults: &mut Vec<Fault>) {
        let place = entry.place;
        match self.index.entry(entry.key.clone()) {
            Slot::Occupied(mut slot) => {
                if let (_, Some(first)) = slot.get() {
                    let message = format!("the key {:?} is already set at {first}", entry.key);
                    let hint = (&*entry.key == "apiVersion").then(|| NEXT_DOCUMENT.to_owned());
                    faults.push(Fault { place, message, hint });
                    return;
                }
                slot.get_mut().1 = Some(place);
                replace(&mut self.entries, slot.get().0, entry);
            }
            Slot::Vacant(slot) => {
                slot.insert((self.entries.len(), Some(place)));
                self.entries.push(entry);
            }
        }
    }

    fn merge(&mut self, value: Node, faults: &mut Vec<Fault>) {
        match value.content {
            Content::Mapping(entries) => self.merged(entries),
            Content::Sequence(items) => {
                for item in items.into_iter().rev() {
                    match item.content {
                        Content::Mapping(entries) => self.merged(entries), // the earlier wins
                        _ => faults.push(Fault::new(item.place, NO_MAPPING)),
                    }
                }
            }
            Content::Scalar(_) => faults.push(Fault::new(value.place, NO_MAPPING)),
        }
    }

    fn merged(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            match self.index.entry(entry.key.clone()) {
                Slot::Occupied(slot) => replace(&mut self.entries, slot.get().0, entry),
                Slot::Vacant(slot) => {
                    slot.insert((self.entries.len(), None));
                    self.entries.push(entry);
                }
            }
        }
    }
}

const NO_MAPPING: &str = "the merge key << takes a mapping, or a list of mappings";

fn replace(entries: &mut [Entry], at: usize, entry: Entry) {
    if let Some(old) = entries.get_mut(at) {
        *old = entry;
    }
}

/// A key as JSON has it: text, though YAML may mean a boolean (`on:` is `true`) or a number.
fn text(node: &Node) -> Result<Box<str>, (String, Option<&'static str>)> {
    let Content::Scalar(Scalar { text, value }) = &node.content else {
        return Err(("a key must be a scalar".into(), Some(TEMPLATE)));
    };
    match value {
        Resolved::Text => Ok(text.clone()),
        Resolved::Bool(value) => Ok(value.to_string().into()),
        Resolved::Number(Number::Signed(value)) => Ok(value.to_string().into()),
        Resolved::Number(Number::Float(value)) => Ok(short_float(*value).into()),
        Resolved::Number(Number::Unsigned(_)) => {
            Err((format!("{text} is too large a number for a key"), None))
        }
        Resolved::Null => Err(("a key must not be null".into(), None)),
        Resolved::NotFinite => Ok(text.to_lowercase().into()), // a fault already
    }
}

/// `{{ .Values.name }}` is, to YAML, a mapping whose key is a mapping.
const TEMPLATE: &str = "if the file is a template, render it first; if the braces are text, quote them";

/// As Go's `FormatFloat(value, 'g', -1, 32)`: shortest digits that give the same 32-bit float.
fn short_float(value: f64) -> String {
    let value = value as f32;
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..=5) => format!("{value}"),
        Ok(exponent) => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
        Err(_) => scientific,
    }
}
