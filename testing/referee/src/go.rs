//! The Go side: upstream modules as folders, the referee as a program.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use portcullis_golang::{CONFORMANCE, GATEWAY_API, Module, is_usable};
use portcullis_golang::{Output, Program};

/// Builds `testing/admission`.
pub fn build_referee() -> PathBuf {
    let program = Program {
        sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("../admission"),
        name: "admission",
        toolchain: "auto",
        linker_flags: "",
        output: Output::Package("."),
    };
    program.build().unwrap()
}

/// The YAML files under a folder, in order.
pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}
