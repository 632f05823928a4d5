//! [`Node`]: JSON as CEL rules look at it.

use serde_json::Value;

use crate::schema::integer;

/// A value after defaulting, known to fit the types of its schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a>(&'a Value);

impl<'a> Node<'a> {
    pub(crate) const fn new(value: &'a Value) -> Self {
        Self(value)
    }

    /// A field or map entry that is there.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.0.get(name).filter(|value| !value.is_null()).map(Self)
    }

    /// CEL's `has(self.name)`.
    pub(crate) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value itself as text; empty if it is none.
    pub(crate) fn text(self) -> &'a str {
        self.0.as_str().unwrap_or_default()
    }

    /// A field as text; absent is empty.
    pub(crate) fn text_of(self, name: &str) -> &'a str {
        self.get(name).map(Self::text).unwrap_or_default()
    }

    /// A field as integer.
    pub(crate) fn integer_of(self, name: &str) -> Option<i64> {
        self.get(name).and_then(|node| integer(node.0))
    }

    /// A field as boolean; absent is false.
    pub(crate) fn is_set(self, name: &str) -> bool {
        self.get(name).is_some_and(|node| node.0.as_bool() == Some(true))
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> + Clone {
        self.0.as_array().into_iter().flatten().map(Self)
    }

    /// The items of a field that is a list.
    pub(crate) fn items_of(self, name: &str) -> impl Iterator<Item = Self> + Clone {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().map(Self)
    }

    /// The keys of a map.
    pub(crate) fn keys(self) -> impl Iterator<Item = &'a str> + Clone {
        let map = self.0.as_object();
        map.into_iter().flat_map(|map| map.keys()).map(String::as_str)
    }

    /// CEL's `size` of a field, be it a list or a map; absent is 0.
    pub(crate) fn size_of(self, name: &str) -> usize {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(fields)) => fields.len(),
            _ => 0,
        }
    }
}
