//! Why there is no cluster.

use std::{io, path::PathBuf};

/// Why a cluster cannot be started, reached or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine does not let us.
    #[error("a test cluster needs Linux, root and network namespaces: {0}")]
    Privilege(String),
    /// A program of Go's is lacking.
    #[error(transparent)]
    Golang(#[from] portcullis_golang::Error),
    /// A cluster of this name runs.
    #[error("a cluster named {0} runs already")]
    Taken(String),
    /// No cluster of this name runs.
    #[error("no cluster named {0} runs; `cargo xtask cluster up` starts one")]
    Absent(String),
    /// As many clusters run as there are address ranges.
    #[error("{0} clusters run already, and there are addresses for no more")]
    Full(u8),
    /// A program could not be started.
    #[error("cannot start `{program}`: {cause}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A program said no.
    #[error("`{command}` failed: {said}")]
    Exit {
        /// The command as it was run.
        command: String,
        /// What it printed on standard error.
        said: String,
    },
    /// A component ended, or did not get ready in time.
    #[error("{component} {what}; its last words, from {}:\n{last_words}", log.display())]
    Unready {
        /// Which.
        component: String,
        /// What it did instead.
        what: String,
        /// Where its output is.
        log: PathBuf,
        /// The end of it.
        last_words: String,
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
    /// A certificate cannot be made.
    #[error("certificates of the cluster: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The API server cannot be asked.
    #[error("the API server: {0}")]
    Api(#[source] Box<kube::Error>),
    /// What was to be measured did not happen.
    #[error("nothing to measure: {0}")]
    Measurement(String),
    /// A kubeconfig that kube does not take.
    #[error("the kubeconfig: {0}")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { path, cause }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}
