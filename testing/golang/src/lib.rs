//! What the tests take from Go: upstream modules as folders ([`Module`]), and programs of ours
//! that link upstream code ([`Program`]), built once for each state of their sources.
//!
//! Any Go since 1.21 will do: it fetches the toolchain that a module asks for.
#![forbid(unsafe_code)]

mod module;
mod program;
mod toolchain;

pub use module::{CONFORMANCE, ENVOY_GATEWAY, GATEWAY_API, Module};
pub use program::{Output, Program, cache_folder};
pub use toolchain::is_usable;

use std::{io, path::PathBuf};

/// Why something of Go's cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `go` could not be started.
    #[error("cannot start `go`: {0}")]
    Start(#[source] io::Error),
    /// A module could not be downloaded.
    #[error("go mod download {module}: {answer}")]
    Download {
        /// The module and its version.
        module: String,
        /// What Go said.
        answer: String,
    },
    /// A program does not build.
    #[error("the Go module {} does not build: {status}", sources.display())]
    Build {
        /// The folder of its sources.
        sources: PathBuf,
        /// How the build ended.
        status: std::process::ExitStatus,
    },
    /// A file could not be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl Error {
    fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { path, cause }
    }
}
