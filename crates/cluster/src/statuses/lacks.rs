//! [`Lacks`]: fields that the API server drops, because the CRD that it serves is older or of the standard channel.

use std::collections::BTreeSet;

use serde_json::Value;

/// Paths of fields that are gone when a written status comes back; `*` stands for every item of a list.
///
/// They are learned from answers, so that whatever schema is served, a status is written once and then left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    paths: BTreeSet<Vec<String>>,
}

impl Lacks {
    /// Learns from a status as it was written and as the API server answered it; says whether there was anything
    /// new to learn.
    pub(crate) fn learn(&mut self, written: &Value, answered: &Value) -> bool {
        let known = self.paths.len();
        missing(written, answered, &mut Vec::new(), &mut self.paths);
        self.paths.len() > known
    }

    /// Leaves the fields out.
    pub(super) fn strip(&self, status: &mut Value) {
        for path in &self.paths {
            strip(status, path);
        }
    }
}

fn missing(written: &Value, answered: &Value, path: &mut Vec<String>, paths: &mut BTreeSet<Vec<String>>) {
    match (written, answered) {
        (Value::Object(written), Value::Object(answered)) => {
            for (field, value) in written {
                path.push(field.clone());
                match answered.get(field) {
                    Some(answered) => missing(value, answered, path, paths),
                    None => {
                        paths.insert(path.clone());
                    }
                }
                path.pop();
            }
        }
        (Value::Array(written), Value::Array(answered)) if written.len() == answered.len() => {
            path.push("*".to_owned());
            for (written, answered) in written.iter().zip(answered) {
                missing(written, answered, path, paths);
            }
            path.pop();
        }
        _ => {}
    }
}

fn strip(value: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    match value {
        Value::Array(items) if first == "*" => items.iter_mut().for_each(|item| strip(item, rest)),
        Value::Object(fields) if rest.is_empty() => {
            fields.remove(first);
        }
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(first) {
                strip(field, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_answer_lacks_is_left_out_from_then_on() {
        let mut lacks = Lacks::default();
        let written = json!({"attachedListenerSets": 0, "addresses": [{"value": "a", "routability": ""}, {"value": "b"}]});
        let answered = json!({"addresses": [{"value": "a"}, {"value": "b"}]});
        assert!(lacks.learn(&written, &answered));
        assert!(!lacks.learn(&written, &answered));
        let mut later =
            json!({"attachedListenerSets": 3, "addresses": [{"value": "c", "routability": "Cluster"}]});
        lacks.strip(&mut later);
        assert_eq!(later, json!({"addresses": [{"value": "c"}]}));
    }

    /// Lists of different lengths, or other values, say nothing about the schema.
    #[test]
    fn nothing_is_learned_from_other_differences() {
        let mut lacks = Lacks::default();
        assert!(!lacks.learn(&json!({"parents": [{"a": 1}, {"b": 2}]}), &json!({"parents": [{"a": 1}]})));
        assert!(!lacks.learn(&json!({"x": 1}), &json!({"x": 2, "y": 3})));
        assert_eq!(lacks, Lacks::default());
    }
}
