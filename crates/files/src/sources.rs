//! Where every object that is served was written.

use crate::positions::Source;
use portcullis_api::{Diagnostic, FieldPath, ObjectKey, Position};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The places of all objects that were read from files. Clones share what they know, and follow reloads.
#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<RwLock<HashMap<ObjectKey, Source>>>);

impl Sources {
    /// The place of an object's field, or of the nearest field above it that is written.
    pub fn locate(&self, object: &ObjectKey, path: &FieldPath) -> Option<Position> {
        let sources = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sources.get(object).map(|source| source.locate(path))
    }

    /// The diagnostic with its place, if it is about an object of ours and has none yet.
    #[must_use]
    pub fn place(&self, diagnostic: Diagnostic) -> Diagnostic {
        let object = diagnostic.object.as_ref().filter(|_| diagnostic.position.is_none());
        match object.and_then(|object| self.locate(object, &diagnostic.path)) {
            Some(position) => diagnostic.at(position),
            None => diagnostic,
        }
    }

    pub(crate) fn set(&self, object: &ObjectKey, source: Option<Source>) {
        let mut sources = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match source {
            Some(source) => drop(sources.insert(object.clone(), source)),
            None => drop(sources.remove(object)),
        }
    }
}
