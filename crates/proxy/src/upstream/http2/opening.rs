//! One connection is opened at a time: the requests that come meanwhile wait for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::Notify;

use crate::error::ProxyError;

/// A connection that is being opened.
#[derive(Default)]
pub(in crate::upstream) struct Opening {
    failed: Cell<Option<ProxyError>>,
    ended: Cell<bool>,
    told: Notify,
}

/// The connection that is being opened now, if any.
pub(super) type Slot = RefCell<Option<Rc<Opening>>>;

/// What a request does that found no place.
pub(in crate::upstream) enum Turn<'l> {
    /// It opens a connection.
    Open(Opener<'l>),
    /// It waits for the one that another opens.
    Wait(Rc<Opening>),
}

/// The right to open a connection; when it goes, however that is, those who wait look again.
pub(in crate::upstream) struct Opener<'l> {
    held: Option<(&'l Slot, Rc<Opening>)>,
}

impl Opening {
    pub(super) fn turn(slot: &Slot) -> Turn<'_> {
        let mut current = slot.borrow_mut();
        match &*current {
            Some(opening) => Turn::Wait(Rc::clone(opening)),
            None => {
                let opening = Rc::clone(current.insert(Rc::default()));
                Turn::Open(Opener { held: Some((slot, opening)) })
            }
        }
    }

    /// Waits for the end of it. Whoever waited for a connection that failed has failed too: each of them trying
    /// again, one after the other, would take all their time.
    pub(in crate::upstream) async fn wait(&self) -> Result<(), ProxyError> {
        let told = self.told.notified();
        if !self.ended.get() {
            told.await;
        }
        self.failed.get().map_or(Ok(()), Err)
    }
}

impl Opener<'_> {
    /// One for which nobody waits.
    pub(in crate::upstream) fn alone() -> Opener<'static> {
        Opener { held: None }
    }

    pub(in crate::upstream) fn failed(&self, error: ProxyError) {
        if let Some((_, opening)) = &self.held {
            opening.failed.set(Some(error));
        }
    }
}

impl Drop for Opener<'_> {
    fn drop(&mut self) {
        if let Some((slot, opening)) = self.held.take() {
            slot.take();
            opening.ended.set(true);
            opening.told.notify_waiters();
        }
    }
}
