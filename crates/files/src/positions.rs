//! Where in its file each field of an object stands.

use crate::yaml::{Content, Node, Place};
use portcullis_api::field_path::Step;
use portcullis_api::{FieldPath, Position};
use std::path::PathBuf;
use std::sync::Arc;

/// An object's place in a file, with those of its fields.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: Arc<PathBuf>,
    places: Arc<Places>,
}

impl Source {
    pub(crate) fn new(file: &Arc<PathBuf>, object: &Node) -> Self {
        Self { file: Arc::clone(file), places: Arc::new(Places::of(object)) }
    }

    /// The place of a field; that of the nearest field above it where it is not written.
    ///
    /// Of a list or mapping that is the place of its key, since its first entry may be lines away. A Secret's `data` may
    /// be written as `stringData`, which an API server merges into it.
    pub(crate) fn locate(&self, path: &FieldPath) -> Position {
        at(&self.file, self.places.locate(path))
    }
}

/// A place in a file as diagnostics have it.
pub(crate) fn at(file: &Arc<PathBuf>, place: Place) -> Position {
    Position { file: Arc::clone(file), line: place.line, column: place.column }
}

/// The nodes of an object in preorder, flat, since there are dozens for each of ten thousand objects.
#[derive(Debug)]
struct Places {
    fields: Box<[Field]>,
    names: Box<str>,
}

#[derive(Debug)]
struct Field {
    place: Place,
    /// The key's text in `names`; empty for entries of lists.
    name: (u32, u32),
    /// How many fields, this one included, this node and all below it take.
    extent: u32,
}

impl Places {
    fn of(object: &Node) -> Self {
        let mut flat = Flat::default();
        flat.push(object, object.place, "");
        Self { fields: flat.fields.into(), names: flat.names.into() }
    }

    fn locate(&self, path: &FieldPath) -> Place {
        let steps = path.steps();
        let mut found = self.descend(steps);
        if let Some((Step::Field(first), below)) = steps.split_first()
            && **first == *"data"
        {
            let merged: Vec<Step> =
                std::iter::once(Step::Field("stringData".into())).chain(below.iter().cloned()).collect();
            let as_text = self.descend(&merged);
            if as_text.0 > found.0 {
                found = as_text;
            }
        }
        self.fields.get(found.1).map_or(Place { line: 1, column: 1 }, |field| field.place)
    }

    /// How many steps lead to something that is written, and to which field.
    fn descend(&self, steps: &[Step]) -> (usize, usize) {
        let (mut at, mut extent) = (0, self.fields.len());
        for (depth, step) in steps.iter().enumerate() {
            match self.child(at, extent, step) {
                Some((child, child_extent)) => (at, extent) = (child, child_extent),
                None => return (depth, at),
            }
        }
        (steps.len(), at)
    }

    /// The child of the node at `at` that a step leads to, with its extent.
    fn child(&self, at: usize, extent: usize, step: &Step) -> Option<(usize, usize)> {
        let end = at + extent;
        let mut child = at + 1;
        let mut index = 0;
        while child < end {
            let field = self.fields.get(child)?;
            let found = match step {
                Step::Field(name) | Step::Key(name) => self.name(field) == Some(name),
                Step::Index(wanted) => index == *wanted,
            };
            if found {
                return Some((child, field.extent as usize));
            }
            child += (field.extent as usize).max(1);
            index += 1;
        }
        None
    }

    fn name(&self, field: &Field) -> Option<&str> {
        let (start, end) = field.name;
        self.names.get(start as usize..end as usize)
    }
}

#[derive(Default)]
struct Flat {
    fields: Vec<Field>,
    names: String,
}

impl Flat {
    /// `key` is the place of the key or, in a list, of the entry.
    fn push(&mut self, node: &Node, key: Place, name: &str) {
        let place = if matches!(node.content, Content::Scalar(_)) { node.place } else { key };
        let start = size(self.names.len());
        self.names.push_str(name);
        let at = self.fields.len();
        self.fields.push(Field { place, name: (start, size(self.names.len())), extent: 1 });
        match &node.content {
            Content::Scalar(_) => {}
            Content::Sequence(items) => {
                for item in items {
                    self.push(item, item.place, "");
                }
            }
            Content::Mapping(entries) => {
                for entry in entries {
                    self.push(&entry.value, entry.place, &entry.key);
                }
            }
        }
        let extent = size(self.fields.len() - at);
        if let Some(field) = self.fields.get_mut(at) {
            field.extent = extent;
        }
    }
}

/// Files are bounded far below four gigabytes.
fn size(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
