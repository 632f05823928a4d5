//! Which folders the operating system tells us of.

use super::events::Effect;
use super::follower::Message;
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Watches of single folders. Following folders below is our own work, because what counts there depends on
/// names and links.
pub(super) struct Notices {
    /// None if the operating system gives us none at all.
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    incomplete: bool,
}

impl Notices {
    pub(super) fn new(watcher: Option<RecommendedWatcher>) -> Self {
        Self { incomplete: watcher.is_none(), watcher, watched: HashSet::new() }
    }

    /// Has events sent to a follower as messages.
    pub(super) fn to(messages: Sender<Message>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Every opening of a file would be told; those are dropped before they wake anybody.
            let matters =
                event.as_ref().map_or(true, |event| event.need_rescan() || Effect::of(&event.kind).is_some());
            if matters {
                // Once the follower has stopped, nobody wants to hear of events.
                let _ = messages.send(Message::Event(event));
            }
        });
        Self::new(watcher.inspect_err(|error| tracing::warn!(%error, "changes are noticed late")).ok())
    }

    /// Whether there are folders that we are not told of, though they can be read.
    pub(super) fn incomplete(&self) -> bool {
        self.incomplete
    }

    pub(super) fn has(&self, folder: &Path) -> bool {
        self.watched.contains(folder)
    }

    /// Has us told of a folder from now on.
    pub(super) fn ensure(&mut self, folder: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        if self.watched.contains(folder) {
            return;
        }
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(folder.to_owned())),
            // What cannot be read, or has just gone, is told by whoever reads it.
            Err(error) if matches!(error.kind, ErrorKind::PathNotFound | ErrorKind::Io(_)) => {}
            Err(error) => {
                if !self.incomplete {
                    tracing::warn!(folder = %folder.display(), %error, "changes here are noticed late");
                }
                self.incomplete = true;
            }
        }
    }

    /// A folder is gone or moved away, and with it the watches from there down.
    pub(super) fn forget(&mut self, folder: &Path) {
        let doomed: Vec<PathBuf> =
            self.watched.iter().filter(|path| path.starts_with(folder)).cloned().collect();
        for path in doomed {
            self.end(&path);
        }
    }

    /// Ends all watches but these.
    pub(super) fn retain(&mut self, wanted: &HashSet<PathBuf>) {
        let doomed: Vec<PathBuf> = self.watched.difference(wanted).cloned().collect();
        for path in doomed {
            self.end(&path);
        }
    }

    fn end(&mut self, folder: &Path) {
        self.watched.remove(folder);
        if let Some(watcher) = &mut self.watcher {
            // The watch of a folder that is gone has ended by itself.
            let _ = watcher.unwatch(folder);
        }
    }
}
