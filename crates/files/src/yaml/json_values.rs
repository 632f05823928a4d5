//! JSON values one after the other, as `jq` and `kubectl` write and `kubectl` reads them. To YAML that is no
//! stream of documents.

use super::{Content, Document, Node, Place, compose};
use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// One of several values, and the place where its text begins.
pub(super) struct Value<'a> {
    text: &'a str,
    start: Place,
}

/// The values of a text that is nothing but two or more JSON objects.
pub(super) fn split(text: &str) -> Option<Vec<Value<'_>>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = Vec::new();
    let mut stream = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut begin, mut start) = (0, Place { line: 1, column: 1 });
    while let Some(value) = stream.next() {
        value.ok()?;
        let end = stream.byte_offset();
        let text = text.get(begin..end)?;
        values.push(Value { text, start });
        start = start.after(text);
        begin = end;
    }
    (values.len() > 1).then_some(values)
}

impl Value<'_> {
    pub(super) fn documents(self) -> Vec<Document> {
        let mut documents = compose::parse(self.text);
        for document in &mut documents {
            match document {
                Ok(node) => shift(node, self.start),
                Err(faults) => faults.iter_mut().for_each(|fault| fault.place = fault.place.from(self.start)),
            }
        }
        documents
    }
}

fn shift(node: &mut Node, start: Place) {
    node.place = node.place.from(start);
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Sequence(items) => items.iter_mut().for_each(|item| shift(item, start)),
        Content::Mapping(entries) => {
            for entry in entries {
                entry.place = entry.place.from(start);
                shift(&mut entry.value, start);
            }
        }
    }
}

impl Place {
    /// The place after some text that begins here.
    pub(crate) fn after(self, text: &str) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let columns = |line: &str| number(line.chars().count());
        match text.rsplit_once('\n') {
            Some((before, last)) => {
                let lines = number(before.matches('\n').count() + 1);
                Self { line: self.line.saturating_add(lines), column: columns(last).saturating_add(1) }
            }
            None => Self { line: self.line, column: self.column.saturating_add(columns(text)) },
        }
    }

    /// A place within some text, when that text begins at `start`.
    fn from(self, start: Self) -> Self {
        let column = if self.line == 1 { start.column + self.column - 1 } else { self.column };
        Self { line: start.line + self.line - 1, column }
    }
}
