//! However files change, following them ends where reading them afresh begins.

use crate::folder::{Folder, Followed, map};
use portcullis_files::load;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// A change to the folder. Paths that a change needs and lacks make it one that does nothing.
#[derive(Clone, Debug)]
enum Edit {
    Write(String, String),
    Replace(String, String),
    Rename(String, String),
    Remove(String),
    Link(String, String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let folder = || prop::sample::select(vec!["", "d/", "d/e/", "f/", ".hidden/"]);
    let name = || prop::sample::select(vec!["a.yaml", "b.yaml", "c.json", "a.yaml~"]);
    let file = || (folder(), name()).prop_map(|(folder, name)| format!("{folder}{name}"));
    let text = || {
        let objects = prop::collection::vec((prop::sample::select(vec!["p", "q", "r"]), 0..9_u8), 1..3);
        objects.prop_map(|objects| {
            let texts: Vec<_> = objects.iter().map(|(name, value)| map(name, &value.to_string())).collect();
            texts.join("---\n")
        })
    };
    let place = || prop_oneof![file(), folder().prop_map(|folder| folder.trim_end_matches('/').to_owned())];
    prop_oneof![
        4 => (file(), text()).prop_map(|(file, text)| Edit::Write(file, text)),
        4 => (file(), text()).prop_map(|(file, text)| Edit::Replace(file, text)),
        4 => (place(), place()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => place().prop_map(Edit::Remove),
        2 => (place(), file()).prop_map(|(target, link)| Edit::Link(target, link)),
    ]
}

/// Makes a change as far as it can be made.
fn make(root: &Path, edit: &Edit) -> std::io::Result<()> {
    let inside = |name: &str| if name.is_empty() { None } else { Some(root.join(name)) };
    match edit {
        Edit::Write(file, text) | Edit::Replace(file, text) => {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            if matches!(edit, Edit::Write(..)) {
                return fs::write(path, text);
            }
            let beside = path.with_extension("tmp");
            fs::write(&beside, text)?;
            fs::rename(beside, path)
        }
        Edit::Rename(from, to) => match (inside(from), inside(to)) {
            (Some(from), Some(to)) => fs::rename(from, to),
            _ => Ok(()),
        },
        Edit::Remove(name) => match inside(name) {
            Some(path) if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(path),
            Some(path) => fs::remove_file(path),
            None => Ok(()),
        },
        Edit::Link(target, link) => {
            let path = root.join(link);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            let beside = path.with_extension("tmp");
            std::os::unix::fs::symlink(root.join(target), &beside)?;
            fs::rename(beside, path)
        }
    }
}

/// All that reading the folder afresh gives.
fn afresh(folder: &Folder) -> (Vec<String>, Vec<String>) {
    let loaded = load(&[folder.0.path().to_owned()]);
    let mut store = portcullis_store::Store::new();
    store.apply(loaded.objects.into_iter().map(portcullis_store::Change::Put));
    (crate::folder::maps(&store), crate::folder::said(folder, &loaded.diagnostics))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24),
        max_shrink_iters: 64, // one that fails waits
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Batches of changes, each followed to its end, the last state compared with a fresh reading.
    #[test]
    fn following_equals_reading_afresh(batches in prop::collection::vec(prop::collection::vec(edit(), 1..6), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let mut followed = Followed::new(Folder::with(&[("a.yaml", &map("p", "0")), ("d/b.yaml", &map("q", "0"))]));
        for batch in batches {
            for edit in &batch {
                // An edit that cannot be made (a folder in the way) is none.
                let _ = make(followed.folder.0.path(), edit);
            }
            let expected = afresh(&followed.folder);
            if expected.1.iter().any(|said| said.contains("PC0101")) {
                return Ok(()); // a link that leads nowhere keeps what it led to, which reading afresh cannot know
            }
            runtime.block_on(async {
                while (followed.maps(), followed.said()) != expected {
                    followed.update().await;
                }
            });
        }
    }
}
