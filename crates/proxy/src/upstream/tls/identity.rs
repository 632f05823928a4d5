//! Which certificate a Gateway shows to backends.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use portcullis_model::Certificate;

/// A client certificate, known by its allocation: equal parts of successive models are the same.
#[derive(Clone, Debug)]
pub(crate) struct Identity(Arc<Certificate>);

impl Identity {
    pub(crate) fn new(certificate: &Arc<Certificate>) -> Identity {
        Identity(Arc::clone(certificate))
    }

    pub(super) fn certificate(&self) -> &Certificate {
        &self.0
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Identity {}

impl Hash for Identity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
