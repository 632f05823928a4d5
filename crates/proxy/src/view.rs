//! A connection's view of the configuration: one load of a counter per request while nothing changes.

use std::sync::Arc;

use portcullis_model::BindAddress;

use crate::shared::Shared;
use crate::tables::ServedPort;

/// What is served at the port that a connection came in at.
pub(crate) struct View {
    address: BindAddress,
    generation: u64,
    served: Option<Arc<ServedPort>>,
}

impl View {
    pub(crate) fn new(address: BindAddress) -> View {
        View { address, generation: 0, served: None }
    }

    /// The newest version; none once the port has left the configuration.
    pub(crate) fn current(&mut self, shared: &Shared) -> Option<&Arc<ServedPort>> {
        let generation = shared.generation();
        if self.generation != generation {
            self.generation = generation; // read first: a newer table under it is looked at again
            self.served = shared.config().ports.get(&self.address).cloned();
        }
        self.served.as_ref()
    }
}
