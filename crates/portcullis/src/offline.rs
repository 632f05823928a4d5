//! What files or a cluster come to, without serving them: for `check`, `status` and `explain`.

mod cluster;
mod consequences;
mod references;
#[cfg(test)]
pub(crate) mod sample;

use std::path::PathBuf;

use portcullis_api::{Diagnostic, FieldPath, Object};
use portcullis_files::Sources;
use portcullis_resolve::{Engine, Resolver};
use portcullis_store::{Change, Store};

use crate::controller::AccessOptions;
use crate::exit::Failure;
use consequences::without_consequences;
use references::References;

/// Resources from files, resolved as if every port could be bound.
pub(crate) struct Offline {
    /// The objects.
    pub(crate) store: Store,
    /// Where they were written.
    pub(crate) sources: Sources,
    /// What is wrong with the files and what an API server would refuse.
    pub(crate) refusals: Vec<Diagnostic>,
    /// What the accepted objects come to.
    pub(crate) resolver: Resolver,
}

impl Offline {
    /// Reads the cluster if one is named, else files and folders.
    pub(crate) fn open(paths: &[PathBuf], access: &AccessOptions) -> Result<Self, Failure> {
        if access.is_given() { cluster::read(access) } else { Ok(Self::read(paths)) }
    }

    /// Reads files and folders.
    pub(crate) fn read(paths: &[PathBuf]) -> Self {
        let loaded = portcullis_files::load(paths);
        let mut store = Store::new();
        store.apply(loaded.objects.into_iter().map(Change::Put));
        let resolver = Resolver::new(Engine::native_from_files().assuming_bound(), &store);
        Self { store, sources: loaded.sources, refusals: loaded.diagnostics, resolver }
    }

    /// Reads a text as if it were a file, whose path is in its findings.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> (Self, PathBuf) {
        let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        (Self::read(&[file.path().to_owned()]), file.path().to_owned())
    }

    /// How many objects the files hold that nobody refuses. Namespaces that no file defines are not among them.
    pub(crate) fn written(&self) -> usize {
        let place = |object: &Object| self.sources.locate(&object.key(), &FieldPath::ROOT);
        self.store.objects().filter(|object| place(object).is_some()).count()
    }

    /// All that was found, files and admission first, then resolution's, each with its place. What follows from
    /// another finding is left out.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let references = References::new(&self.store, &self.refusals);
        let resolved = self.resolver.resolved().diagnostics.values().flat_map(|found| found.iter().cloned());
        let resolved = without_consequences(resolved.collect(), &self.store);
        let resolved = resolved.into_iter().map(|found| references.explain(self.sources.place(found)));
        self.refusals.iter().cloned().chain(resolved).collect()
    }
}
