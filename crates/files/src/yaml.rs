//! YAML as kubectl reads it, with the place of every node.
//!
//! [`parse`] turns text into [`Document`]s of [`Node`]s: events come from `granit-parser`, plain scalars get
//! YAML 1.1 meaning ([`scalar`]), anchors and merge keys are expanded within bounds ([`compose`]). JSON is
//! read by the same path, of which it is a subset but for values that follow each other ([`json_values`]).

mod compose;
mod json;
mod json_values;
mod mapping;
mod number;
mod scalar;

#[cfg(test)]
mod tests;

pub(crate) use scalar::Scalar;

use portcullis_api::FieldPath;
use portcullis_api::field_path::Step;
use std::fmt;

/// A place in a file: both numbers count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// The line.
    pub(crate) line: u32,
    /// The column.
    pub(crate) column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a document, or the rest of the file after it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// A document: its value, or all that is wrong with it. Empty documents do not appear.
pub(crate) type Document = Result<Node, Vec<Fault>>;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

/// What a node holds. Tags are already applied, aliases and merge keys expanded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// A key and its value; no key appears twice in a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Box<str>,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

/// The documents of a text, in order.
pub(crate) fn parse(text: &str) -> Vec<Document> {
    match json_values::split(text) {
        Some(values) => values.into_iter().flat_map(json_values::Value::documents).collect(),
        None => compose::parse(text),
    }
}

impl Content {
    fn null() -> Self {
        Self::Scalar(Scalar { text: "".into(), value: scalar::Resolved::Null })
    }
}

impl Node {
    /// Whether this is nothing: an empty document, `~` or `null`.
    fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.value == scalar::Resolved::Null)
    }

    /// Levels of collections, this one included.
    fn depth(&self) -> usize {
        match &self.content {
            Content::Scalar(_) => 0,
            Content::Sequence(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Content::Mapping(entries) => 1 + entries.iter().map(|e| e.value.depth()).max().unwrap_or(0),
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.content {
            Content::Mapping(entries) => entries.iter().find(|e| &*e.key == key).map(|e| &e.value),
            Content::Scalar(_) | Content::Sequence(_) => None,
        }
    }

    /// The node that a field path leads to.
    pub(crate) fn at(&self, path: &FieldPath) -> Option<&Node> {
        path.steps().iter().try_fold(self, |node, step| match (step, &node.content) {
            (Step::Field(name) | Step::Key(name), _) => node.get(name),
            (Step::Index(index), Content::Sequence(items)) => items.get(*index),
            (Step::Index(_), _) => None,
        })
    }

    /// The text of a string scalar.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(scalar) => scalar.as_str(),
            Content::Sequence(_) | Content::Mapping(_) => None,
        }
    }
}
