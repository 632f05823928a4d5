//! A worker's view of the configuration: while nothing changes, one load of a counter per request.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use portcullis_model::BindAddress;

use crate::shared::Shared;
use crate::tables::{Config, ServedPort};

/// What a worker serves. Requests hold their version; nothing else holds an old one.
#[derive(Default)]
pub(crate) struct View(RefCell<Rc<Version>>);

/// A configuration as one worker knows it.
#[derive(Default)]
pub(crate) struct Version {
    generation: u64,
    config: Arc<Config>,
}

impl View {
    /// The newest configuration.
    pub(crate) fn current(&self, shared: &Shared) -> Rc<Version> {
        let generation = shared.generation();
        if self.0.borrow().generation != generation {
            // The number is read before: a newer configuration under it is looked for again.
            self.0.replace(Rc::new(Version { generation, config: shared.config() }));
        }
        Rc::clone(&self.0.borrow())
    }
}

impl Version {
    /// What is served at an address; none if it is not, or no longer, in the configuration.
    pub(crate) fn port(&self, address: &BindAddress) -> Option<&Arc<ServedPort>> {
        self.config.ports.get(address)
    }
}
