//! What the house promises about itself: crates depend in one direction, files stay readable.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which of our crates each crate may build on. What is not here may build on none.
const MAY_USE: &[(&str, &[&str])] = &[
    ("portcullis-api", &[]),
    ("portcullis-model", &[]),
    ("portcullis-http1", &[]),
    ("portcullis-store", &["portcullis-api"]),
    ("portcullis-files", &["portcullis-api", "portcullis-store"]),
    ("portcullis-cluster", &["portcullis-api", "portcullis-store"]),
    ("portcullis-resolve", &["portcullis-api", "portcullis-store", "portcullis-model"]),
    ("portcullis-routing", &["portcullis-model"]),
    ("portcullis-proxy", &["portcullis-model", "portcullis-routing", "portcullis-http1"]),
];

/// Crates that only test; nothing builds on them.
const TESTS: [&str; 5] = [
    "portcullis-cluster-testing",
    "portcullis-e2e",
    "portcullis-fuzzing",
    "portcullis-golang",
    "portcullis-referee",
];

/// No file is longer, so that each has one subject.
const MAX_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Dependencies of each of our crates on others of ours, those of its tests apart.
fn edges() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let edges_of = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .map(|dependency| dependency["name"].as_str().unwrap())
            .filter(|name| ours.contains(name))
            .map(str::to_owned)
            .collect()
    };
    packages.iter().map(|package| (package["name"].as_str().unwrap().to_owned(), edges_of(package))).collect()
}

/// Data flows from files and clusters to engines; a crate never builds on one that it feeds.
#[test]
fn crates_depend_in_one_direction_only() {
    let edges = edges();
    for (name, allowed) in MAY_USE {
        let used = edges.get(*name).unwrap_or_else(|| panic!("{name} is not in the workspace"));
        for other in used {
            assert!(allowed.contains(&other.as_str()), "{name} must not build on {other}");
        }
    }
    for name in edges.keys().filter(|name| name.starts_with("portcullis-") && !TESTS.contains(&name.as_str()))
    {
        assert!(MAY_USE.iter().any(|(known, _)| known == name), "{name} has no place in the house yet");
    }
}

/// Unsafe code is forbidden at each crate's root, so that no inner attribute can allow it.
#[test]
fn every_crate_forbids_unsafe_code() {
    for source in
        sources().iter().filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
    {
        let text = std::fs::read_to_string(source).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} does not", source.display());
    }
}

#[test]
fn files_have_one_subject() {
    for source in sources() {
        let lines = std::fs::read_to_string(&source).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", source.display());
        assert_ne!(
            source.file_name().unwrap(),
            "mod.rs",
            "{}: write `name.rs` beside `name/`",
            source.display()
        );
    }
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["crates", "xtask", "testing"].iter().map(|name| root().join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().unwrap() != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}
