//! What all files together say: which object is served from which file, and what its last good version is.
//!
//! An object belongs to the first file, in the order of paths, that mentions it. While that file, or the
//! object in it, cannot be read, its last good version stays.

use crate::contents::{Contents, Mention};
use crate::positions::Source;
use crate::rules::DUPLICATE;
use crate::sources::Sources;
use portcullis_api::{Diagnostic, FieldPath, Object, ObjectKey};
use portcullis_store::Change;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

mod namespaces;

/// What tells a file from all others under whatever name: device and inode.
pub(crate) type Identity = (u64, u64);

#[derive(Default)]
pub(crate) struct Corpus {
    files: BTreeMap<PathBuf, File>,
    /// The files that mention an object.
    mentioned_in: HashMap<ObjectKey, BTreeSet<PathBuf>>,
    served: HashMap<ObjectKey, Object>,
    sources: Sources,
    duplicates: BTreeMap<ObjectKey, Vec<Diagnostic>>,
    namespaces: namespaces::Namespaces,
    /// Objects whose mentions have changed since the last [`Corpus::settle`].
    touched: HashSet<ObjectKey>,
}

#[derive(Default)]
struct File {
    identity: Option<Identity>,
    /// As of the last version that could be read.
    mentions: BTreeMap<ObjectKey, Vec<Mention>>,
    /// As of the last attempt.
    diagnostics: Vec<Diagnostic>,
}

impl Corpus {
    pub(crate) fn sources(&self) -> Sources {
        self.sources.clone()
    }

    /// Takes a file's new contents, or why it cannot be read: then its last good version stays.
    pub(crate) fn put(
        &mut self,
        path: &Path,
        identity: Option<Identity>,
        contents: Result<Contents, Vec<Diagnostic>>,
    ) {
        let file = self.files.entry(path.to_owned()).or_default();
        file.identity = identity;
        let contents = match contents {
            Ok(contents) => contents,
            Err(diagnostics) => {
                file.diagnostics = diagnostics;
                return;
            }
        };
        file.diagnostics = contents.diagnostics;
        let mut mentions: BTreeMap<ObjectKey, Vec<Mention>> = BTreeMap::new();
        for mention in contents.mentions {
            mentions.entry(mention.key.clone()).or_default().push(mention);
        }
        if contents.anonymous {
            for (key, kept) in &file.mentions {
                mentions.entry(key.clone()).or_insert_with(|| kept.clone());
            }
        }
        let old = std::mem::replace(&mut file.mentions, mentions);
        let new: Vec<ObjectKey> = file.mentions.keys().cloned().collect();
        for key in old.into_keys() {
            self.forget_mention(&key, path);
        }
        for key in new {
            self.mentioned_in.entry(key.clone()).or_default().insert(path.to_owned());
            self.touched.insert(key);
        }
    }

    /// A file is gone.
    pub(crate) fn remove(&mut self, path: &Path) {
        for key in self.files.remove(path).unwrap_or_default().mentions.into_keys() {
            self.forget_mention(&key, path);
        }
    }

    fn forget_mention(&mut self, key: &ObjectKey, path: &Path) {
        if let Some(paths) = self.mentioned_in.get_mut(key) {
            paths.remove(path);
            if paths.is_empty() {
                self.mentioned_in.remove(key);
            }
        }
        self.touched.insert(key.clone());
    }

    /// What has changed since the last call.
    pub(crate) fn settle(&mut self) -> Vec<Change> {
        let touched: BTreeSet<ObjectKey> = self.touched.drain().collect();
        let mut changes = Vec::new();
        for key in touched {
            self.settle_object(&key, &mut changes);
        }
        let served = &self.served;
        self.namespaces.settle(|key| served.contains_key(key), &mut changes);
        changes
    }

    fn settle_object(&mut self, key: &ObjectKey, changes: &mut Vec<Change>) {
        let duplicates = self.duplicates_of(key);
        if duplicates.is_empty() {
            self.duplicates.remove(key);
        } else {
            self.duplicates.insert(key.clone(), duplicates);
        }
        let first = self.mentions(key).next().map(|(_, first)| (first.object.clone(), first.source.clone()));
        match first {
            Some((Some(object), source)) => self.serve(key, object, source, changes),
            // Refused: the last good version stays, if there is one.
            Some((None, source)) => {
                if self.served.contains_key(key) {
                    self.sources.set(key, Some(source));
                }
            }
            None => {
                if self.served.remove(key).is_some() {
                    self.sources.set(key, None);
                    self.namespaces.left(key);
                    changes.push(Change::Remove(key.clone()));
                }
            }
        }
    }

    fn serve(&mut self, key: &ObjectKey, object: Object, source: Source, changes: &mut Vec<Change>) {
        self.sources.set(key, Some(source));
        match self.served.insert(key.clone(), object.clone()) {
            Some(old) if old == object => return,
            Some(_) => {}
            None => self.namespaces.entered(key),
        }
        changes.push(Change::Put(object));
    }

    /// Every mention of an object, in the order of paths and then within the file.
    fn mentions(&self, key: &ObjectKey) -> impl Iterator<Item = (&File, &Mention)> {
        let paths = self.mentioned_in.get(key).into_iter().flatten();
        let files = paths.filter_map(|path| self.files.get(path));
        files.flat_map(move |file| {
            file.mentions.get(key).into_iter().flatten().map(move |mention| (file, mention))
        })
    }

    /// What to say about all mentions but the first. One file under two names is no duplicate.
    fn duplicates_of(&self, key: &ObjectKey) -> Vec<Diagnostic> {
        let mut mentions = self.mentions(key);
        let Some((first_file, first)) = mentions.next() else { return Vec::new() };
        let used = first.source.locate(&FieldPath::ROOT);
        let others = mentions.filter(|(file, _)| {
            std::ptr::eq(*file, first_file) || file.identity.is_none() || file.identity != first_file.identity
        });
        let diagnostics = others.map(|(_, mention)| {
            let message = format!("{key} is defined at {used} already, and that is used");
            let place = mention.source.locate(&FieldPath::ROOT);
            Diagnostic::new(&DUPLICATE, FieldPath::ROOT, message).about(key.clone()).at(place)
        });
        diagnostics.collect()
    }

    /// All that is wrong now, in the order of files and places.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let of_files = self.files.values().flat_map(|file| &file.diagnostics);
        let mut all: Vec<Diagnostic> = of_files.chain(self.duplicates.values().flatten()).cloned().collect();
        all.sort_by(|a, b| a.position.cmp(&b.position));
        all
    }
}
