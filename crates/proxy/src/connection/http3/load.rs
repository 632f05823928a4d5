//! What a connection's client sends that is no request, counted.

use std::cell::RefCell;

use crate::connection::resets::Resets;

/// Frames and streams of a connection that carry no request.
pub(super) struct Load(RefCell<Resets>);

impl Load {
    /// `limit` is how many there may be in ten seconds.
    pub(super) fn new(limit: usize) -> Load {
        Load(RefCell::new(Resets::new(limit)))
    }

    /// Counts one; false if there are too many.
    pub(super) fn count(&self) -> bool {
        let mut counted = self.0.borrow_mut();
        counted.count();
        !counted.exceeded()
    }
}
