//! From parser events to nodes: anchors, aliases, merge keys, duplicate keys, and the bounds on all of them.

use super::scalar::{self, Resolved, Tag};
use super::{Content, Document, Fault, Node, Place, mapping};
use crate::limits::{BYTES_PER_NODE, MAX_ALIAS_NODES, MAX_DEPTH};
use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, ScanError, Span, StrInput};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// The documents of a stream, in order.
///
/// What is wrong in one spoils that one: after an error of syntax the next `---` begins anew.
pub(super) fn parse(text: &str) -> Vec<Document> {
    let mut parser = Parser::new_from_str_with_options(text, options());
    let mut documents = Vec::new();
    while let Some(event) = parser.next_event() {
        let document = match event {
            Ok((Event::DocumentStart(..), _)) => Composer::default().document(&mut parser),
            Ok(_) => continue, // start and end of the stream and of documents
            Err(error) => Err(Stop::from(error)),
        };
        match document {
            Ok(Ok(node)) if node.is_null() => {}
            Ok(document) => documents.push(document),
            Err(Stop(fault)) => {
                documents.push(Err(vec![fault]));
                match parser.proceed_next_document() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        documents.push(Err(vec![Stop::from(error).0]));
                        break;
                    }
                }
            }
        }
    }
    documents
}

/// What go-yaml reads and the YAML 1.2 specification does not, and the other way round.
fn options() -> Options {
    granit_parser::options! {
        strict_indentation: false,
        block_scalar_eof_without_line_feed: true,
        emit_unresolved_aliases: true,
        emit_comments: false,
    }
}

/// The fault after which a document cannot be read on.
struct Stop(Fault);

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        Self(Fault::new(place(error.marker()), format!("not YAML: {}", error.info())))
    }
}

fn place(mark: &Marker) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: number(mark.line().max(1)), column: number(mark.col()).saturating_add(1) }
}

/// The prefix of the tags that YAML itself defines, written `!!`.
const CORE: &str = "tag:yaml.org,2002:";

/// A finished node with its size, so that an alias to it is cheap to judge.
#[derive(Clone)]
struct Anchored {
    node: Rc<Node>,
    weight: usize,
}

/// A collection whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    weight: usize,
    items: Items,
}

enum Items {
    Sequence(Vec<Node>),
    Mapping { pairs: Vec<mapping::Pair>, key: Option<mapping::Key> },
}

#[derive(Default)]
struct Composer {
    anchors: HashMap<usize, Anchored>,
    open: Vec<Open>,
    aliased: usize,
    faults: Vec<Fault>,
}

impl Composer {
    /// Reads one document up to its end.
    fn document<'a>(mut self, parser: &mut Parser<'a, StrInput<'a>>) -> Result<Document, Stop> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event?;
            if let Some(root) = self.event(event, span)? {
                return Ok(if self.faults.is_empty() { Ok(root) } else { Err(self.faults) });
            }
        }
        Err(Stop(Fault::new(Place { line: 1, column: 1 }, "the document has no end")))
    }

    /// Takes an event; gives the root once it is whole.
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, Stop> {
        let place = place(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let merge = plain && text == mapping::MERGE && tag.is_none();
                let node = self.scalar(text, tag.as_deref(), plain, place);
                let weight = 1 + node.as_str().map_or(0, str::len) / BYTES_PER_NODE;
                Ok(self.finish(node, anchor, weight, merge))
            }
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::UnresolvedAlias(name) => {
                self.faults.push(Fault::new(place, format!("there is no anchor &{name} before this alias")));
                Ok(self.finish(Node { place, content: Content::null() }, 0, 1, false))
            }
            Event::SequenceStart(_, anchor, _) => self.start(place, anchor, Items::Sequence(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.start(place, anchor, Items::Mapping { pairs: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => Ok(self.end()),
            _ => Ok(None), // comments, and the ends of things that hold no node
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        tag: Option<&granit_parser::Tag>,
        plain: bool,
        place: Place,
    ) -> Node {
        let tag = tag.map(|tag| if tag.handle() == CORE { Tag::Core(tag.suffix()) } else { Tag::Other });
        let content = match scalar::resolve(text, tag, plain) {
            Ok(scalar) => {
                if scalar.value == Resolved::NotFinite {
                    let message = format!("{} is a number that JSON cannot hold", scalar.text);
                    let hint = format!("write \"{}\" if it is meant as text", scalar.text);
                    self.faults.push(Fault { place, message, hint: Some(hint) });
                }
                Content::Scalar(scalar)
            }
            Err(message) => {
                self.faults.push(Fault::new(place, message));
                Content::null()
            }
        };
        Node { place, content }
    }

    /// The anchor's node again, at the alias's place.
    fn alias(&mut self, anchor: usize, place: Place) -> Result<Option<Node>, Stop> {
        let Some(Anchored { node, weight }) = self.anchors.get(&anchor).cloned() else {
            self.faults.push(Fault::new(place, "the alias lies within the anchor it names"));
            return Ok(self.finish(Node { place, content: Content::null() }, 0, 1, false));
        };
        self.aliased = self.aliased.saturating_add(weight);
        if self.aliased > MAX_ALIAS_NODES {
            return Err(Stop(Fault::new(place, "aliases make this document too large")));
        }
        let node = Node { place, content: node.content.clone() };
        if self.open.len() + node.depth() > MAX_DEPTH {
            return Err(too_deep(place));
        }
        Ok(self.finish(node, 0, weight, false))
    }

    fn start(&mut self, place: Place, anchor: usize, items: Items) -> Result<Option<Node>, Stop> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.open.push(Open { place, anchor, weight: 1, items });
        Ok(None)
    }

    fn end(&mut self) -> Option<Node> {
        let Open { place, anchor, weight, items } = self.open.pop()?;
        let content = match items {
            Items::Sequence(items) => Content::Sequence(items),
            Items::Mapping { pairs, .. } => Content::Mapping(mapping::entries(pairs, &mut self.faults)),
        };
        self.finish(Node { place, content }, anchor, weight, false)
    }

    /// Puts a whole node where it belongs; `merge` says that as a key it is the merge key.
    fn finish(&mut self, node: Node, anchor: usize, weight: usize, merge: bool) -> Option<Node> {
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { node: Rc::new(node.clone()), weight });
        }
        let Some(open) = self.open.last_mut() else { return Some(node) };
        open.weight = open.weight.saturating_add(weight);
        match &mut open.items {
            Items::Sequence(items) => items.push(node),
            Items::Mapping { pairs, key } => match key.take() {
                None => *key = Some(mapping::Key { node, merge }),
                Some(key) => pairs.push(mapping::Pair { key, value: node }),
            },
        }
        None
    }
}

fn too_deep(place: Place) -> Stop {
    Stop(Fault::new(place, format!("nested more than {MAX_DEPTH} levels deep")))
}

impl Fault {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: None }
    }
}
