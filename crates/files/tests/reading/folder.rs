//! A folder of resources to change, and the state that following it leads to.

use portcullis_api::Diagnostic;
use portcullis_files::{Sources, Watcher, watch};
use portcullis_store::{Change, Kind, Object, ObjectKey, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A temporary folder.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file in place, folders on the way included.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("folders can be made");
        fs::write(path, text).expect("the file can be written");
    }

    /// Writes a file beside its place and renames it into it.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        let beside = format!("{name}.tmp");
        self.write(&beside, text);
        self.rename(&beside, name);
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("it can be renamed");
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("the file can be removed");
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("the link can be made");
    }
}

/// A ConfigMap, whose `v` is easy to look at.
pub(crate) fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: {value:?}}}\n")
}

/// Diagnostics as `file:line:column code message`, the folder's own path cut off.
pub(crate) fn said(folder: &Folder, diagnostics: &[Diagnostic]) -> Vec<String> {
    let prefix = format!("{}/", folder.0.path().display());
    let said = diagnostics.iter().map(|diagnostic| {
        let position = diagnostic.position.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{position} {} {}", diagnostic.rule.code, diagnostic.message).replace(&prefix, "")
    });
    said.collect()
}

/// The values of all ConfigMaps, as `name=value`.
pub(crate) fn maps(store: &Store) -> Vec<String> {
    let maps = store.list(Kind::ConfigMap).map(|object| match object {
        Object::ConfigMap(map) => {
            let value = map.data.as_ref().and_then(|data| data.get("v")).cloned().unwrap_or_default();
            format!("{}={value}", map.metadata.name.clone().unwrap_or_default())
        }
        other => panic!("{other:?} among the ConfigMaps"),
    });
    maps.collect()
}

/// A folder that is followed.
pub(crate) struct Followed {
    pub(crate) folder: Folder,
    pub(crate) store: Store,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) sources: Sources,
    watcher: Watcher,
}

impl Followed {
    pub(crate) fn new(folder: Folder) -> Self {
        let path = folder.0.path().to_owned();
        Self::paths(folder, &[path])
    }

    pub(crate) fn paths(folder: Folder, paths: &[PathBuf]) -> Self {
        let (loaded, watcher) = watch(paths).expect("a thread can be started");
        let mut store = Store::new();
        store.apply(loaded.objects.into_iter().map(Change::Put));
        Self { folder, store, diagnostics: loaded.diagnostics, sources: loaded.sources, watcher }
    }

    pub(crate) fn maps(&self) -> Vec<String> {
        maps(&self.store)
    }

    pub(crate) fn said(&self) -> Vec<String> {
        said(&self.folder, &self.diagnostics)
    }

    pub(crate) fn has(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.store.get(&ObjectKey::new(kind, namespace, name)).is_some()
    }

    /// Takes the next update.
    pub(crate) async fn update(&mut self) {
        let update = tokio::time::timeout(Duration::from_secs(5), self.watcher.next()).await;
        let update = update.expect("an update within five seconds").expect("the watcher lives");
        self.store.apply(update.changes);
        self.diagnostics = update.diagnostics;
    }

    /// Takes updates until the ConfigMaps are these; each state on the way is given to `passing`.
    pub(crate) async fn until_passing(&mut self, maps: &[&str], mut passing: impl FnMut(&Self)) {
        while self.maps() != maps {
            passing(self);
            self.update().await;
        }
    }

    /// Takes updates until the ConfigMaps are these.
    pub(crate) async fn until(&mut self, maps: &[&str]) {
        self.until_passing(maps, |_| {}).await;
    }
}
