//! Waits until it is time, reads what has changed, and tells.

use super::Update;
use super::events::Effect;
use super::interests::Interests;
use super::notices::Notices;
use crate::limits::{COALESCE, POLL, QUIET, SILENCE};
use crate::load::Loaded;
use crate::reader::Reader;
use crate::rules::NOT_WATCHED;
use crate::tree::{Cause, holds_resources};
use portcullis_api::{Diagnostic, FieldPath};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;
use tokio::sync::mpsc;

pub(super) enum Message {
    Event(notify::Result<notify::Event>),
    Stop,
}

pub(super) struct Follower {
    reader: Reader,
    notices: Notices,
    interests: Interests,
    messages: Receiver<Message>,
    updates: mpsc::Sender<Update>,
    /// Files that somebody is writing, with the time of the last sign of it.
    busy: HashMap<PathBuf, Instant>,
    /// Paths to look at again.
    due: BTreeMap<PathBuf, Cause>,
    batch: Option<Batch>,
    looked: Instant,
    told: Vec<Diagnostic>,
}

/// Events that will be acted on together.
struct Batch {
    first: Instant,
    last: Instant,
    /// One of them is a removal, which may be half of a replacement.
    removal: bool,
}

impl Batch {
    fn end(&self) -> Instant {
        let latest = self.first + COALESCE;
        if self.removal { latest } else { latest.min(self.last + QUIET) }
    }
}

impl Follower {
    /// Reads everything, told of changes from before.
    pub(super) fn start(
        paths: &[PathBuf],
        mut notices: Notices,
        messages: Receiver<Message>,
        updates: mpsc::Sender<Update>,
    ) -> (Loaded, Self) {
        let mut reader = Reader::start(paths, &mut |folder| notices.ensure(folder));
        let mut loaded = Loaded::of(&mut reader);
        let interests = Interests::of(&reader.tree);
        let mut follower = Self {
            reader,
            notices,
            interests,
            messages,
            updates,
            busy: HashMap::new(),
            due: BTreeMap::new(),
            batch: None,
            looked: Instant::now(),
            told: Vec::new(),
        };
        loaded.diagnostics = follower.diagnostics();
        follower.told.clone_from(&loaded.diagnostics);
        (loaded, follower)
    }

    /// Follows changes until stopped, or until nobody takes updates.
    pub(super) fn run(mut self) {
        loop {
            let wait = self.wake().map(|wake| wake.saturating_duration_since(Instant::now()));
            let message = match wait {
                Some(wait) => self.messages.recv_timeout(wait),
                None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Event(event)) => self.note(event),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            self.note_silence(now);
            if self.batch.as_ref().is_some_and(|batch| batch.end() <= now) && !self.act() {
                return;
            }
        }
    }

    /// When there will be something to do though nothing happens.
    fn wake(&self) -> Option<Instant> {
        let batch = self.batch.as_ref().map(Batch::end);
        let silence = self.busy.values().min().map(|last| *last + SILENCE);
        let poll = self.notices.incomplete().then(|| self.looked + POLL);
        [batch, silence, poll].into_iter().flatten().min()
    }

    fn note(&mut self, event: notify::Result<notify::Event>) {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            _ => return self.all_due(Cause::Lost), // events were lost
        };
        let Some(effect) = Effect::of(&event.kind) else { return };
        for path in &event.paths {
            if effect == Effect::Removed && self.notices.has(path) {
                for owner in self.interests.within(path) {
                    self.mark(owner, Cause::Changed);
                }
                self.notices.forget(path);
            }
            for owner in self.interests.concerned(path) {
                self.take(owner, effect);
            }
        }
    }

    fn take(&mut self, path: PathBuf, effect: Effect) {
        match effect {
            Effect::MadeFile if is_whole(&path) => self.mark(path, Cause::Changed),
            Effect::MadeFile | Effect::Written => {
                if path.file_name().is_some_and(holds_resources) || self.reader.tree.links.contains_key(&path)
                {
                    self.due.remove(&path);
                    self.busy.insert(path, Instant::now());
                }
            }
            Effect::MadeFolder => self.mark(path, Cause::Made),
            Effect::Touched => {
                if !self.busy.contains_key(&path) {
                    self.mark(path, Cause::Changed);
                }
            }
            Effect::Settled => {
                self.busy.remove(&path);
                self.mark(path, Cause::Changed);
            }
            Effect::Removed => {
                self.busy.remove(&path);
                self.mark(path, Cause::Changed);
                if let Some(batch) = &mut self.batch {
                    batch.removal = true;
                }
            }
        }
    }

    /// Has a path looked at with the rest of the batch.
    fn mark(&mut self, path: PathBuf, cause: Cause) {
        let now = Instant::now();
        let strongest = self.due.entry(path).or_insert(cause);
        *strongest = cause.max(*strongest);
        self.batch.get_or_insert(Batch { first: now, last: now, removal: false }).last = now;
    }

    fn all_due(&mut self, cause: Cause) {
        for root in self.reader.roots() {
            self.mark(root, cause);
        }
    }

    /// Files that have been silent for long enough are taken to be whole.
    fn note_silence(&mut self, now: Instant) {
        let silent: Vec<PathBuf> = self
            .busy
            .iter()
            .filter(|(_, last)| **last + SILENCE <= now)
            .map(|(path, _)| path.clone())
            .collect();
        for path in silent {
            self.busy.remove(&path);
            self.mark(path, Cause::Changed);
        }
        if self.notices.incomplete() && self.looked + POLL <= now {
            self.all_due(Cause::Changed);
        }
    }

    /// Reads what is due and tells what came of it; false if nobody listens.
    fn act(&mut self) -> bool {
        self.batch = None;
        self.looked = Instant::now();
        let Self { reader, notices, busy, .. } = self;
        let mut structure = false;
        let mut fresh = Vec::new();
        for (path, cause) in std::mem::take(&mut self.due) {
            let is_busy = |path: &Path| busy.contains_key(path);
            let looked = reader.look(&path, cause, &is_busy, &mut |folder| notices.ensure(folder));
            structure |= looked.structure;
            fresh.extend(looked.fresh);
        }
        let now = Instant::now();
        self.busy.extend(fresh.into_iter().map(|path| (path, now)));
        if structure {
            self.interests = Interests::of(&self.reader.tree);
            self.notices.retain(&self.interests.watched());
        }
        self.tell()
    }

    fn tell(&mut self) -> bool {
        let changes = self.reader.settle();
        let diagnostics = self.diagnostics();
        if changes.is_empty() && diagnostics == self.told {
            return true;
        }
        self.told.clone_from(&diagnostics);
        self.updates.blocking_send(Update { changes, diagnostics }).is_ok()
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.reader.diagnostics();
        if self.notices.incomplete() {
            let message = "the operating system does not tell of all changes";
            diagnostics.push(Diagnostic::new(&NOT_WATCHED, FieldPath::ROOT, message));
        }
        diagnostics
    }
}

/// Whether a path that has just appeared needs no writing: a link, or another name of an existing file.
fn is_whole(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink() || metadata.nlink() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::Flag;
    use notify::{Event, EventKind};
    use portcullis_store::Change;
    use std::time::Duration;

    fn names(update: &Update) -> Vec<String> {
        let put = |change: &Change| match change {
            Change::Put(object) => Some(object.key().to_string()),
            _ => None,
        };
        update.changes.iter().filter_map(put).collect()
    }

    #[test]
    fn lost_events_make_us_look_at_everything_and_no_events_make_us_look_every_two_seconds() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let write = |name: &str| {
            let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
            fs::write(folder.path().join(name).with_extension("yaml"), text).expect("it can be written");
        };
        write("a");
        let (sender, messages) = std::sync::mpsc::channel();
        let (updates, mut taken) = mpsc::channel(16);
        let (loaded, follower) =
            Follower::start(&[folder.path().to_owned()], Notices::new(None), messages, updates);
        assert_eq!(loaded.diagnostics.iter().map(|d| d.rule.code).collect::<Vec<_>>(), ["PC0108"]);
        let thread = std::thread::spawn(move || follower.run());

        let start = Instant::now();
        write("b");
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        sender.send(Message::Event(Ok(lost))).expect("the follower lives");
        let update = taken.blocking_recv().expect("the follower lives");
        assert_eq!(names(&update), ["ConfigMap/default/b"]);
        assert!(start.elapsed() < POLL, "{:?}", start.elapsed());

        write("c");
        let update = taken.blocking_recv().expect("the follower lives");
        assert_eq!(names(&update), ["ConfigMap/default/c"]);
        assert!(start.elapsed() < POLL * 2 + Duration::from_secs(2), "{:?}", start.elapsed());

        sender.send(Message::Stop).expect("the follower lives");
        thread.join().expect("the follower ends well");
    }
}
