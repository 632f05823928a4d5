//! Paths into JSON values, written `spec.rules[0].name`.

use serde_json::{Map, Value};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of an object or a key of a map.
    Field(String),
    /// A position in a list.
    Index(usize),
}

/// The steps of a path whose fields have neither dots nor brackets in their names.
pub fn parse(path: &str) -> Vec<Step> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.strip_suffix(']') {
            Some(index) => Step::Index(index.parse().unwrap()),
            None => Step::Field(part.to_owned()),
        })
        .collect()
}

/// The value at a path.
pub fn get<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(name) => value.get(name),
        Step::Index(index) => value.get(index),
    })
}

/// The value at a path, to change.
pub fn get_mut<'a>(value: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(name) => value.get_mut(name),
        Step::Index(index) => value.get_mut(index),
    })
}

/// The same object with another value at a path; missing parents appear.
#[must_use]
pub fn with(object: &Value, steps: &[Step], new: Value) -> Value {
    let mut object = object.clone();
    *place(&mut object, steps) = new;
    object
}

fn place<'a>(mut value: &'a mut Value, steps: &[Step]) -> &'a mut Value {
    for step in steps {
        value = match step {
            Step::Field(name) => {
                if !value.is_object() {
                    *value = Value::Object(Map::new());
                }
                value.as_object_mut().unwrap().entry(name).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if !value.is_array() {
                    *value = Value::Array(Vec::new());
                }
                let list = value.as_array_mut().unwrap();
                while list.len() <= *index {
                    list.push(Value::Null);
                }
                &mut list[*index]
            }
        };
    }
    value
}

/// The same object without the value at a path.
#[must_use]
pub fn without(object: &Value, steps: &[Step]) -> Value {
    let mut object = object.clone();
    let (last, parents) = steps.split_last().unwrap();
    match (get_mut(&mut object, parents), last) {
        (Some(Value::Object(fields)), Step::Field(name)) => {
            fields.remove(name);
        }
        (Some(Value::Array(list)), Step::Index(index)) if *index < list.len() => {
            list.remove(*index);
        }
        _ => {}
    }
    object
}

/// Every place of an object that a schema path such as `spec.rules[].name` means; `{}` is any key.
pub fn instances(object: &Value, schema_path: &str) -> Vec<Vec<Step>> {
    let mut found = vec![Vec::new()];
    for part in
        schema_path.replace("[]", ".[]").replace("{}", ".{}").split('.').filter(|part| !part.is_empty())
    {
        found = found.iter().flat_map(|steps| next(object, steps, part)).collect();
    }
    found
}

fn next(object: &Value, steps: &[Step], part: &str) -> Vec<Vec<Step>> {
    let then = |step: Step| [steps, &[step]].concat();
    match (get(object, steps), part) {
        (Some(Value::Array(list)), "[]") => (0..list.len()).map(|index| then(Step::Index(index))).collect(),
        (Some(Value::Object(fields)), "{}") => {
            fields.keys().map(|key| then(Step::Field(key.clone()))).collect()
        }
        (Some(Value::Object(fields)), name) if fields.contains_key(name) => {
            vec![then(Step::Field(name.to_owned()))]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_path_means_every_place_it_fits() {
        let object = json!({"rules": [{"a": 1}, {}, {"a": {"k.x/y": 2}}]});
        let places = instances(&object, "rules[].a");
        assert_eq!(places, [parse("rules[0].a"), parse("rules[2].a")]);
        assert_eq!(get(&object, &instances(&object, "rules[].a{}")[0]), Some(&json!(2)));
    }

    #[test]
    fn a_value_is_set_where_nothing_was() {
        let object = with(&json!({}), &parse("a[1].b"), json!(1));
        assert_eq!(object, json!({"a": [null, {"b": 1}]}));
        assert_eq!(without(&object, &parse("a[0]")), json!({"a": [{"b": 1}]}));
    }
}
