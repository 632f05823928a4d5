//! Which of our paths an event concerns.

use crate::tree::{Tree, is_hidden};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// By paths free of links, as events name them; rebuilt when folders or links change.
#[derive(Debug, Default)]
pub(super) struct Interests {
    /// The folders of ours that are this folder.
    folders: HashMap<PathBuf, Vec<PathBuf>>,
    /// The roots and links whose meaning depends on this path.
    hops: HashMap<PathBuf, Vec<PathBuf>>,
}

impl Interests {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut interests = Self::default();
        for (folder, real) in &tree.folders {
            interests.folders.entry(real.clone()).or_default().push(folder.clone());
        }
        for (owner, hops) in &tree.links {
            for hop in hops {
                interests.hops.entry(hop.folder.join(&hop.name)).or_default().push(owner.clone());
            }
        }
        interests
    }

    /// Every folder to be told of.
    pub(super) fn watched(&self) -> HashSet<PathBuf> {
        let of_hops = self.hops.keys().filter_map(|hop| hop.parent()).map(Path::to_owned);
        self.folders.keys().cloned().chain(of_hops).collect()
    }

    /// The paths that an event at this path concerns.
    pub(super) fn concerned(&self, path: &Path) -> HashSet<PathBuf> {
        let mut concerned: HashSet<PathBuf> = self.hops.get(path).into_iter().flatten().cloned().collect();
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
            && !is_hidden(name)
            && let Some(folders) = self.folders.get(parent)
        {
            concerned.extend(folders.iter().map(|folder| folder.join(name)));
        }
        concerned
    }

    /// The paths that are, or lead through, a folder from this path down.
    pub(super) fn within(&self, path: &Path) -> HashSet<PathBuf> {
        let folders = self.folders.iter().filter(|(real, _)| real.starts_with(path));
        let hops =
            self.hops.iter().filter(|(hop, _)| hop.parent().is_some_and(|parent| parent.starts_with(path)));
        folders.chain(hops).flat_map(|(_, owners)| owners).cloned().collect()
    }
}
