//! Reading JSON into a type of k8s-openapi while watching which fields the type knows.
//!
//! Those types ignore unknown fields, and tell serde the fields that they know; so a deserializer
//! between JSON and type sees both.

use serde::{
    de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Error, Map, Value, map};

use crate::{
    admission::{Findings, prune, rules::WRONG_TYPE, structure},
    diagnostic::Diagnostic,
    field_path::{FieldPath, Step},
    schema::{misfit, wanted},
};

/// Reads a value, warns of unknown fields, and reports where and why it does not fit.
pub(super) fn read<T: DeserializeOwned>(value: &Value, findings: &mut Findings) -> Option<T> {
    match T::deserialize(Watched { value, findings }) {
        Ok(object) => Some(object),
        Err(error) => {
            // Whoever fails leaves the path where it is.
            let path = std::mem::replace(&mut findings.path, FieldPath::ROOT);
            let error = error.to_string();
            let found = at(value, &path).unwrap_or(&Value::Null);
            let hint = wanted(&error).and_then(|wanted| structure::spelling_hint(wanted, found));
            let diagnostic = Diagnostic::new(&WRONG_TYPE, path, misfit(&error, found));
            findings.push(match hint {
                Some(hint) => diagnostic.with_hint(hint),
                None => diagnostic,
            });
            None
        }
    }
}

fn at<'a>(value: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps().iter().try_fold(value, |value, step| match step {
        Step::Field(name) | Step::Key(name) => value.get(&**name),
        Step::Index(index) => value.get(index),
    })
}

struct Watched<'de, 'f> {
    value: &'de Value,
    findings: &'f mut Findings,
}

impl<'de> Deserializer<'de> for Watched<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(fields) => visitor.visit_map(Entries::of(fields, Step::Key, self.findings)),
            Value::Array(items) => {
                visitor.visit_seq(Items { items: items.iter().enumerate(), findings: self.findings })
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Object(fields) = self.value else { return self.deserialize_any(visitor) };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            prune::report_unknown(name, known.iter().copied(), self.findings);
        }
        visitor.visit_map(Entries::of(fields, Step::Field, self.findings))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The entries of an object, for a struct or a map.
struct Entries<'de, 'f> {
    entries: map::Iter<'de>,
    next: Option<(&'de str, &'de Value)>,
    step: fn(std::sync::Arc<str>) -> Step,
    findings: &'f mut Findings,
}

impl<'de, 'f> Entries<'de, 'f> {
    fn of(
        fields: &'de Map<String, Value>,
        step: fn(std::sync::Arc<str>) -> Step,
        findings: &'f mut Findings,
    ) -> Self {
        Self { entries: fields.iter(), next: None, step, findings }
    }
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next = self.entries.next().map(|(key, value)| (key.as_str(), value));
        self.next.map(|(key, _)| seed.deserialize(key.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (key, value) = self.next.take().unwrap_or(("", &Value::Null));
        self.findings.path.push((self.step)(key.into()));
        let read = seed.deserialize(Watched { value, findings: self.findings })?;
        self.findings.path.pop();
        Ok(read)
    }
}

/// The items of a list.
struct Items<'de, 'f> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    findings: &'f mut Findings,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, value)) = self.items.next() else { return Ok(None) };
        self.findings.path.push(Step::Index(index));
        let read = seed.deserialize(Watched { value, findings: self.findings })?;
        self.findings.path.pop();
        Ok(Some(read))
    }
}
