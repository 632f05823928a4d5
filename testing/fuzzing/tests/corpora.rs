//! The corpora of all fuzz targets, given to them once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use portcullis_fuzzing::TARGETS;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// A target without a program is never fuzzed, and one without a corpus begins with nothing.
#[test]
fn every_target_has_a_program_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpora"), targets);
}

#[test]
fn nothing_in_the_corpora_breaks_a_promise() {
    for target in TARGETS {
        let mut inputs: Vec<PathBuf> = fs::read_dir(fuzz().join("corpora").join(target.name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{}", target.name);
        for path in inputs {
            let input = fs::read(&path).unwrap();
            if std::panic::catch_unwind(|| (target.body)(&input)).is_err() {
                panic!("{} does not take {}", target.name, path.display());
            }
        }
    }
}
