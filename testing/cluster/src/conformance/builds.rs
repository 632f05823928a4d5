//! Building the suite and its backends from the Go module in `testing/conformance`.

use std::{fs, path::PathBuf};

use portcullis_golang::{Output, Program};

use crate::{Error, node_program};

/// The suite, as a program that takes `go test`'s and its own flags.
pub(crate) fn suite() -> Result<PathBuf, Error> {
    Ok(program("conformance-suite", Output::Tests).build()?)
}

/// The program of every backend that the suite's manifests ask for.
pub(crate) fn echo_basic() -> Result<PathBuf, Error> {
    let package = "sigs.k8s.io/gateway-api-conformance-images/echo-basic";
    Ok(program("echo-basic", Output::Package(package)).build()?)
}

/// Where reports and logs go.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let folder = node_program::target_folder().join("conformance");
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    Ok(folder)
}

fn program(name: &'static str, output: Output) -> Program {
    Program {
        sources: node_program::root().join("testing/conformance"),
        name,
        toolchain: "go1.27.3",
        linker_flags: "-s -w",
        output,
    }
}
