//! Building the program.

use std::path::{Path, PathBuf};

use portcullis_golang::{Error, Output, Program};

/// The program of `testing/cluster/control-plane`, whose first argument says which part to be. The first build
/// takes eight minutes on two cores, and any later one with the same sources nothing.
///
/// # Errors
/// When it cannot be built.
pub fn program() -> Result<PathBuf, Error> {
    let program = Program {
        sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("control-plane"),
        name: "control-plane",
        toolchain: "auto",
        // Clients read the version of the API server, which stands in no source.
        linker_flags: "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2",
        output: Output::Package("."),
    };
    program.build()
}
