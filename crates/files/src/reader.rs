//! Reads what has changed in the tree into the corpus.

use crate::contents;
use crate::corpus::{Corpus, Identity};
use crate::io_words::io_words;
use crate::limits::MAX_FILE_BYTES;
use crate::rules::UNREADABLE;
use crate::sources::Sources;
use crate::tree::{Cause, Tree, Watch};
use portcullis_api::{Diagnostic, FieldPath, Position};
use portcullis_store::Change;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The path that means the standard input.
pub(crate) const STDIN: &str = "-";

pub(crate) struct Reader {
    pub(crate) tree: Tree,
    corpus: Corpus,
}

/// What looking at a path again came to, apart from what was read.
pub(crate) struct Looked {
    /// Files that seem to be still being written.
    pub(crate) fresh: Vec<PathBuf>,
    /// Whether folders or links were found or lost.
    pub(crate) structure: bool,
}

impl Reader {
    pub(crate) fn empty() -> Self {
        Self { tree: Tree::default(), corpus: Corpus::default() }
    }

    /// Reads everything for the first time, the standard input last.
    pub(crate) fn start(paths: &[PathBuf], watch: Watch<'_>) -> Self {
        let (standard_input, paths): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.iter().cloned().partition(|path| path.as_os_str() == STDIN);
        let mut reader = Self { tree: Tree::new(&paths), ..Self::empty() };
        for root in reader.roots() {
            reader.look(&root, Cause::Changed, &|_| false, &mut *watch);
        }
        if let Some(path) = standard_input.first() {
            reader.take(path, bounded(io::stdin().lock()).map(|bytes| (bytes, None)));
        }
        reader
    }

    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.tree.roots().iter().map(|root| root.path.clone()).collect()
    }

    pub(crate) fn sources(&self) -> Sources {
        self.corpus.sources()
    }

    /// Looks at a path and all below it again and reads what has changed, except `busy` files.
    pub(crate) fn look(
        &mut self,
        path: &Path,
        cause: Cause,
        busy: &dyn Fn(&Path) -> bool,
        watch: Watch<'_>,
    ) -> Looked {
        let seen = self.tree.look(path, cause, busy, watch);
        for path in &seen.gone {
            self.corpus.remove(path);
        }
        for path in &seen.changed {
            self.take(path, read(path));
        }
        Looked { fresh: seen.fresh, structure: seen.structure }
    }

    /// Takes what a file holds, or why that cannot be told.
    pub(crate) fn take(&mut self, path: &Path, bytes: io::Result<(Vec<u8>, Option<Identity>)>) {
        let file = Arc::new(self.tree.shown(path));
        match bytes {
            Ok((bytes, identity)) => self.corpus.put(path, identity, contents::read(&file, &bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.tree.vanished(path);
                self.corpus.remove(path);
            }
            Err(error) => {
                let position = Position { file, line: 1, column: 1 };
                let diagnostic = Diagnostic::new(&UNREADABLE, FieldPath::ROOT, io_words(&error)).at(position);
                self.corpus.put(path, None, Err(vec![diagnostic]));
            }
        }
    }

    /// What has changed since the last call.
    pub(crate) fn settle(&mut self) -> Vec<Change> {
        self.corpus.settle()
    }

    /// All that is wrong now: first with paths, then by file and place.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.tree.troubles();
        diagnostics.extend(self.corpus.diagnostics());
        diagnostics
    }
}

fn read(path: &Path) -> io::Result<(Vec<u8>, Option<Identity>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok((bounded(file)?, Some((metadata.dev(), metadata.ino()))))
}

/// All bytes, or one more than there may be.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
