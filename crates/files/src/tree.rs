//! The files below the paths that were named, as the file system has them.
//!
//! Knows directories and what they hold, the links on the way, and which files may have changed since they
//! were last read; reads no file itself.

mod links;

pub(crate) use links::Hop;

use crate::io_words::io_words;
use crate::limits::{FRESH, MAX_FOLDERS};
use crate::rules::{MISSING, NO_FILES, UNREADABLE};
use portcullis_api::{Diagnostic, FieldPath, Position, Rule};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A path that was named, as it was written and as an absolute path.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    shown: PathBuf,
    pub(crate) path: PathBuf,
}

/// What tells two states of a file apart without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Clone, Copy)]
struct Known {
    fingerprint: Fingerprint,
    /// The file was changed so shortly before we looked that another change might not show.
    racy: bool,
}

/// What came of looking at a path again.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Files that are new or may have changed.
    pub(crate) changed: Vec<PathBuf>,
    /// Files that are new in a new folder and have been written to just now.
    pub(crate) fresh: Vec<PathBuf>,
    /// Files that are no longer there.
    pub(crate) gone: Vec<PathBuf>,
    /// Whether folders or links were found or lost.
    pub(crate) structure: bool,
}

/// Why a path is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// It was made: what is in it may still be being written.
    Made,
    /// It may have changed; whether a file has is told by its fingerprint.
    Changed,
    /// Events were lost: no fingerprint is trusted.
    Lost,
}

#[derive(Default)]
pub(crate) struct Tree {
    roots: Vec<Root>,
    /// Folders by the path that leads to them from a root, with the same path free of links.
    pub(crate) folders: BTreeMap<PathBuf, PathBuf>,
    /// For each root and each link below one, what its meaning depends on.
    pub(crate) links: BTreeMap<PathBuf, Vec<Hop>>,
    files: BTreeMap<PathBuf, Known>,
    troubles: BTreeMap<PathBuf, Diagnostic>,
}

/// A way of being told of what will happen in a folder; called before anybody looks into it.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&Path);

impl Tree {
    pub(crate) fn new(paths: &[PathBuf]) -> Self {
        let roots = paths.iter().map(|path| {
            // Where there is no absolute path, as of an empty one, looking at it says what is wrong.
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Root { shown: path.clone(), path: absolute }
        });
        Self { roots: roots.collect(), ..Self::default() }
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The path as the user would write it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        let below = |root: &Root| path.strip_prefix(&root.path).ok().map(|rest| (root.shown.clone(), rest));
        match self.roots.iter().find_map(below) {
            Some((root, rest)) if rest.as_os_str().is_empty() => root,
            Some((root, rest)) => root.join(rest),
            None => path.to_owned(),
        }
    }

    /// What is wrong with paths, as opposed to the contents of files.
    pub(crate) fn troubles(&self) -> Vec<Diagnostic> {
        let folders = self.roots.iter().filter(|root| self.folders.contains_key(&root.path));
        let empty = folders.filter(|root| below(&self.files, &root.path).next().is_none());
        let empty =
            empty.map(|root| self.trouble(&root.path, &NO_FILES, "no .yaml, .yml or .json file here"));
        self.troubles.values().cloned().chain(empty).collect()
    }

    fn trouble(&self, path: &Path, rule: &'static Rule, message: impl Into<String>) -> Diagnostic {
        let position = Position { file: Arc::new(self.shown(path)), line: 1, column: 1 };
        Diagnostic::new(rule, FieldPath::ROOT, message).at(position)
    }

    /// Forgets that a file was there when it turns out that it is gone.
    pub(crate) fn vanished(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Looks at a path and everything below it again. `busy` files, which somebody is writing, stay as
    /// they are.
    pub(crate) fn look(
        &mut self,
        path: &Path,
        cause: Cause,
        busy: &dyn Fn(&Path) -> bool,
        watch: Watch<'_>,
    ) -> Seen {
        let forgotten = self.forget(path);
        let before: Vec<PathBuf> = below(&self.files, path).cloned().collect();
        let is_file = before.first().is_some_and(|first| first == path);
        // What was read from a path that cannot be looked at stays, and so does what was read from below it.
        let is_kept = path.ancestors().skip(1).any(|above| self.troubles.contains_key(above));
        // An event may be about a path that leads nowhere by now, or in a circle.
        let is_reached =
            self.is_root(path) || path.parent().is_some_and(|parent| self.folders.contains_key(parent));
        let mut above: Vec<PathBuf> =
            path.ancestors().skip(1).filter_map(|above| self.folders.get(above).cloned()).collect();
        let mut look = Look {
            tree: self,
            busy,
            watch,
            // A file that is named by an event has changed, whatever its fingerprint says.
            cause: if is_file { Cause::Lost } else { cause },
            seen: Seen::default(),
            present: BTreeSet::new(),
            kept: Vec::new(),
        };
        if is_reached {
            look.visit(path, &mut above);
        }
        let Look { mut seen, present, kept, .. } = look;
        seen.structure =
            forgotten || below(&self.folders, path).chain(below(&self.links, path)).next().is_some();
        for old in before {
            if !is_kept && !present.contains(&old) && !kept.iter().any(|kept| old.starts_with(kept)) {
                self.files.remove(&old);
                seen.gone.push(old);
            }
        }
        seen
    }

    /// Forgets folders, links and troubles from a path down; whether there was a folder or link.
    fn forget(&mut self, path: &Path) -> bool {
        fn drop_below<T>(map: &mut BTreeMap<PathBuf, T>, path: &Path) -> bool {
            let doomed: Vec<PathBuf> = below(map, path).cloned().collect();
            for path in &doomed {
                map.remove(path);
            }
            !doomed.is_empty()
        }
        drop_below(&mut self.troubles, path);
        drop_below(&mut self.folders, path) | drop_below(&mut self.links, path)
    }

    fn is_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.path == path)
    }
}

/// The keys from a path down.
fn below<'a, T>(map: &'a BTreeMap<PathBuf, T>, path: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
    map.range(path.to_owned()..).map(|(key, _)| key).take_while(move |key| key.starts_with(path))
}

/// Whether an entry of a folder is none of ours: hidden, as are kubelet's `..data` and most editors' files.
pub(crate) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file in a folder holds resources, by its name. Backups (`a.yaml~`, `a.yaml.bak`) and swap files do
/// not.
pub(crate) fn holds_resources(name: &OsStr) -> bool {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    !is_hidden(name) && matches!(extension, Some("yaml" | "yml" | "json"))
}

/// One look at a path and what is below it.
struct Look<'a> {
    tree: &'a mut Tree,
    busy: &'a dyn Fn(&Path) -> bool,
    watch: Watch<'a>,
    cause: Cause,
    seen: Seen,
    present: BTreeSet<PathBuf>,
    /// Paths that cannot be looked at: what was known below them stays.
    kept: Vec<PathBuf>,
}

impl Look<'_> {
    fn visit(&mut self, path: &Path, above: &mut Vec<PathBuf>) {
        let is_root = self.tree.is_root(path);
        let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        if is_root || is_link {
            let hops = links::follow(path, self.watch);
            self.tree.links.insert(path.to_owned(), hops);
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, above),
            Ok(metadata) => {
                if is_root || (metadata.is_file() && path.file_name().is_some_and(holds_resources)) {
                    self.file(path, &metadata);
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if is_root {
                    self.trouble(path, &MISSING, "no such file or folder".to_owned());
                } else if is_link && path.file_name().is_some_and(holds_resources) {
                    self.broken_link(path, "a link that leads nowhere");
                }
            }
            Err(error) if is_link && error.kind() != ErrorKind::PermissionDenied => {
                self.broken_link(path, &io_words(&error)); // it leads in a circle
            }
            Err(error) => self.trouble(path, &UNREADABLE, io_words(&error)),
        }
    }

    fn broken_link(&mut self, path: &Path, message: &str) {
        self.trouble(path, &UNREADABLE, message.to_owned());
        if let Some(trouble) = self.tree.troubles.get_mut(path) {
            trouble.hint = Some("correct the link, or remove it".to_owned());
        }
    }

    fn folder(&mut self, path: &Path, above: &mut Vec<PathBuf>) {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => return self.trouble(path, &UNREADABLE, io_words(&error)),
        };
        if above.contains(&real) || above.len() >= MAX_FOLDERS {
            return; // a link to a folder that it lies in
        }
        (self.watch)(&real);
        let entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.trouble(path, &UNREADABLE, io_words(&error)),
        };
        self.tree.folders.insert(path.to_owned(), real.clone());
        above.push(real);
        for entry in entries {
            let name = entry.file_name();
            let may_lead_on = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
            if !is_hidden(&name) && (may_lead_on || holds_resources(&name)) {
                self.visit(&entry.path(), above);
            }
        }
        above.pop();
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) {
        self.present.insert(path.to_owned());
        if (self.busy)(path) {
            return;
        }
        let known = self.tree.files.get(path).copied();
        let fingerprint = Fingerprint::of(metadata);
        if known.is_some() && !metadata.is_file() {
            return; // a pipe gives what it has once
        }
        let is_fresh = changed_within(metadata, FRESH);
        if self.cause == Cause::Made && known.is_none() && is_fresh {
            self.seen.fresh.push(path.to_owned());
            return;
        }
        let same = known.is_some_and(|known| known.fingerprint == fingerprint && !known.racy);
        if same && self.cause != Cause::Lost {
            return;
        }
        self.tree.files.insert(path.to_owned(), Known { fingerprint, racy: is_fresh });
        self.seen.changed.push(path.to_owned());
    }

    /// A path that cannot be looked at: what was read from it stays.
    fn trouble(&mut self, path: &Path, rule: &'static Rule, message: String) {
        let diagnostic = self.tree.trouble(path, rule, message);
        self.tree.troubles.insert(path.to_owned(), diagnostic);
        self.kept.push(path.to_owned());
    }
}

impl Fingerprint {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Whether a file was written to within this time. Clocks that disagree (network file systems) only make us
/// read once more.
fn changed_within(metadata: &Metadata, time: std::time::Duration) -> bool {
    let modified = metadata.modified().ok();
    modified.is_some_and(|modified| SystemTime::now().duration_since(modified).map_or(true, |age| age < time))
}
