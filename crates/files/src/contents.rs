//! From the bytes of a file to the objects in it.

use crate::limits::MAX_FILE_BYTES;
use crate::positions::{Source, at};
use crate::rules::{NOT_AN_OBJECT, NOT_UTF8, NOT_YAML, TOO_LARGE};
use crate::yaml::{self, Content, Node, Place, Scalar};
use portcullis_api::admission::{self, admit};
use portcullis_api::{Diagnostic, FieldPath, Kind, Object, ObjectKey};
use std::path::PathBuf;
use std::sync::Arc;

/// The label that an API server gives every Namespace.
pub(crate) const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) mentions: Vec<Mention>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Some document could not be told apart: any object missing here may be the one it was.
    pub(crate) anonymous: bool,
}

/// One object in a file.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    pub(crate) key: ObjectKey,
    /// None if admission refused it.
    pub(crate) object: Option<Object>,
    pub(crate) source: Source,
}

/// Reads a file; an error is all that keeps it from being read, with what is wrong in the rest of it.
pub(crate) fn read(file: &Arc<PathBuf>, bytes: &[u8]) -> Result<Contents, Vec<Diagnostic>> {
    let text = text(file, bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut contents = Contents::default();
    let mut faults = Vec::new();
    for document in yaml::parse(text) {
        match document {
            Ok(node) => contents.document(file, &node),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() {
        return Ok(contents);
    }
    let faults = faults.into_iter().map(|fault| {
        let diagnostic = Diagnostic::new(&NOT_YAML, FieldPath::ROOT, fault.message).at(at(file, fault.place));
        Diagnostic { hint: fault.hint, ..diagnostic }
    });
    Err(contents.diagnostics.into_iter().chain(faults).collect())
}

fn text<'a>(file: &Arc<PathBuf>, bytes: &'a [u8]) -> Result<&'a str, Box<Diagnostic>> {
    let start = Place { line: 1, column: 1 };
    let refuse = |rule, place, message: String| {
        Err(Box::new(Diagnostic::new(rule, FieldPath::ROOT, message).at(at(file, place))))
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return refuse(&TOO_LARGE, start, format!("larger than {} MiB", MAX_FILE_BYTES >> 20));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
            return refuse(&NOT_UTF8, start.after(&valid), "a byte here is not UTF-8".into());
        }
    };
    match text.split_once(is_forbidden) {
        Some((before, _)) => {
            refuse(&NOT_YAML, start.after(before), "a control character, which YAML does not allow".into())
        }
        None => Ok(text),
    }
}

/// Characters that YAML allows only as escapes (YAML 1.1 §5.1).
fn is_forbidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')
}

impl Contents {
    /// Takes a document: an object, or a `List` of them.
    fn document(&mut self, file: &Arc<PathBuf>, node: &Node) {
        match list_items(node) {
            Some((items, kind, version)) => {
                for item in items {
                    self.document(file, &of_list(item, kind, version));
                }
            }
            None => self.object(file, node),
        }
    }

    fn object(&mut self, file: &Arc<PathBuf>, node: &Node) {
        if !matches!(node.content, Content::Mapping(_)) {
            let message = "a document that is not a mapping";
            let diagnostic = Diagnostic::new(&NOT_AN_OBJECT, FieldPath::ROOT, message);
            self.diagnostics.push(diagnostic.at(at(file, node.place)));
            self.anonymous = true;
            return;
        }
        let source = Source::new(file, node);
        let admitted = admit(node.to_json());
        self.anonymous |= admitted.key.is_none() && admitted.diagnostics.iter().any(Diagnostic::is_error);
        self.diagnostics.extend(admitted.diagnostics.into_iter().map(|diagnostic| {
            let position = source.locate(&diagnostic.path);
            with_quotes(diagnostic, node).at(position)
        }));
        if let Some(key) = admitted.key {
            self.mentions.push(Mention { key, object: admitted.object.map(completed), source });
        }
    }
}

/// The items of an object whose kind ends in `List`, with the kind and version of items that say none.
fn list_items(node: &Node) -> Option<(&[Node], &str, &str)> {
    let kind = node.get("kind")?.as_str()?.strip_suffix("List")?;
    let version = node.get("apiVersion")?.as_str()?;
    match &node.get("items")?.content {
        Content::Sequence(items) => Some((items, kind, version)),
        Content::Mapping(_) | Content::Scalar(_) => None,
    }
}

/// An item as if it stood alone: API servers leave kind and version out of the items of typed lists.
fn of_list(item: &Node, kind: &str, version: &str) -> Node {
    let mut item = item.clone();
    if let Content::Mapping(entries) = &mut item.content
        && !kind.is_empty()
        && !entries.iter().any(|entry| &*entry.key == "kind")
    {
        entries.retain(|entry| &*entry.key != "apiVersion");
        for (key, text) in [("apiVersion", version), ("kind", kind)] {
            let content = Content::Scalar(Scalar::text(text));
            let value = Node { place: item.place, content };
            entries.push(yaml::Entry { key: key.into(), place: item.place, value });
        }
    }
    item
}

/// Where YAML took a plain scalar for a boolean or number and a string is wanted, the hint quotes what was
/// written: `on`, not the `true` that it means.
fn with_quotes(diagnostic: Diagnostic, object: &Node) -> Diagnostic {
    let of_type = [&admission::rules::WRONG_TYPE, &admission::rules::UNREADABLE].contains(&diagnostic.rule);
    if !of_type || !diagnostic.message.contains("string") {
        return diagnostic;
    }
    match object.at(&diagnostic.path).map(|node| &node.content) {
        Some(Content::Scalar(scalar)) if scalar.as_str().is_none() && !scalar.text.is_empty() => {
            let hint = format!("write it in quotes: \"{}\"", scalar.text);
            diagnostic.with_hint(hint)
        }
        _ => diagnostic,
    }
}

/// What an API server adds to an object, and files lack.
fn completed(mut object: Object) -> Object {
    let is_namespace = object.kind() == Kind::Namespace;
    let metadata = object.metadata_mut();
    metadata.generation = Some(1);
    if is_namespace {
        let name = metadata.name.clone().unwrap_or_default();
        metadata.labels.get_or_insert_default().insert(NAMESPACE_NAME.to_owned(), name);
    }
    object
}
