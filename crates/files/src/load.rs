//! Reading once.

use crate::reader::Reader;
use crate::sources::Sources;
use portcullis_api::{Diagnostic, Object};
use portcullis_store::Change;
use std::path::{Path, PathBuf};

/// What files say at one time.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Every object that admission lets pass, each once, and the Namespaces that they need.
    pub objects: Vec<Object>,
    /// All that is wrong, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the objects were written.
    pub sources: Sources,
}

/// Reads files, folders with everything below them, and the standard input, which is `-`.
///
/// Nothing makes it fail: what cannot be read is among the diagnostics.
pub fn load(paths: &[PathBuf]) -> Loaded {
    Loaded::of(&mut Reader::start(paths, &mut |_| {}))
}

/// Reads bytes as the only file, named `name`.
pub fn read(name: &Path, bytes: &[u8]) -> Loaded {
    let mut reader = Reader::empty();
    reader.take(name, Ok((bytes.to_vec(), None)));
    Loaded::of(&mut reader)
}

impl Loaded {
    /// What a reader has read at its start.
    pub(crate) fn of(reader: &mut Reader) -> Self {
        let objects = reader.settle().into_iter().filter_map(|change| match change {
            Change::Put(object) => Some(object),
            Change::Remove(_) | Change::Report(_) | Change::Retract(_) => None,
        });
        let objects = objects.collect();
        Self { objects, diagnostics: reader.diagnostics(), sources: reader.sources() }
    }
}
