//! Reading again whenever something changes.
//!
//! [`notices`] asks the operating system to tell of events, [`events`] says what an event means for a path,
//! [`interests`] which of our paths it concerns, and [`follower`] waits until it is time and reads.

mod events;
mod follower;
mod interests;
mod notices;

use crate::load::Loaded;
use follower::{Follower, Message};
use notices::Notices;
use portcullis_api::Diagnostic;
use portcullis_store::Change;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Updates that may wait to be taken before files are no longer read.
const WAITING: usize = 16;

/// What has changed in files, and what is wrong with them now.
#[derive(Clone, Debug)]
pub struct Update {
    /// To apply to the store, in order.
    pub changes: Vec<Change>,
    /// All that is wrong now, not only since the last update.
    pub diagnostics: Vec<Diagnostic>,
}

/// Follows changes on a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    updates: mpsc::Receiver<Update>,
    stop: std::sync::mpsc::Sender<Message>,
}

/// Reads paths as [`load`](crate::load()) does, and follows their changes from that moment on.
///
/// # Errors
///
/// When no thread can be started. Paths that cannot be watched are looked at every two seconds instead, and
/// that is among the diagnostics.
pub fn watch(paths: &[PathBuf]) -> std::io::Result<(Loaded, Watcher)> {
    let (stop, messages) = std::sync::mpsc::channel();
    let (updates, taken) = mpsc::channel(WAITING);
    let (loaded, follower) = Follower::start(paths, Notices::to(stop.clone()), messages, updates);
    std::thread::Builder::new().name("files".into()).spawn(move || follower.run())?;
    Ok((loaded, Watcher { updates: taken, stop }))
}

impl Watcher {
    /// The next update; `None` once nothing can change any more. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.recv().await
    }

    /// The next update, for threads without a runtime.
    pub fn blocking_next(&mut self) -> Option<Update> {
        self.updates.blocking_recv()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The thread may have ended already, and then hears nothing.
        let _ = self.stop.send(Message::Stop);
        self.updates.close();
    }
}
