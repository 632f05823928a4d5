//! [`Signal`]: what the tasks that talk to the API server tell the feed.

use crate::raw::Raw;
use crate::reads::Need;
use portcullis_api::Kind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kinds that are served, with the version to read.
pub(crate) type Served = BTreeMap<Kind, &'static str>;

/// The bundle version that each CRD of the Gateway API tells, by kind; none where it tells none.
pub(crate) type BundleVersions = BTreeMap<Kind, Option<Arc<str>>>;

/// What a task tells the feed.
#[derive(Debug)]
pub(crate) enum Signal {
    /// These kinds are served.
    Served(Served),
    /// It cannot be told which kinds are served.
    DiscoveryFailed(String),
    /// These CRDs of the Gateway API are installed; nothing where they may not be looked at.
    Definitions(BundleVersions),
    /// A watch has something; `run` tells it from earlier watches of the kind.
    Watch { kind: Kind, run: u64, event: Event },
    /// A read has its answer: what was found; `run` tells it from earlier reads of the same.
    Read { need: Need, run: u64, found: Vec<Raw> },
    /// A read has failed and will be tried again.
    ReadFailed { need: Need, run: u64, failure: Failure },
}

/// What a watch says.
#[derive(Debug)]
pub(crate) enum Event<O = Raw> {
    /// A list begins; whatever is not in it when it ends is gone.
    Listing,
    /// An object of the list.
    Listed(O),
    /// The list has ended.
    Complete,
    /// An object is new or has changed.
    Applied(O),
    /// An object is gone.
    Deleted(O),
    /// The API server cannot be asked, or refuses; it will be tried again.
    Failed(Failure),
}

/// Why the API server has not answered as wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// One line with the cause.
    pub(crate) message: String,
    /// The HTTP status, where there is one.
    pub(crate) code: Option<u16>,
}

impl Failure {
    /// Whether we lack a permission, which waiting does not mend.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.code, Some(401 | 403))
    }

    /// Whether the API server has forgotten what happened since; a list follows.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.code == Some(410)
    }

    /// Whether the API server does not know what was asked for.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }
}

impl From<&kube::Error> for Failure {
    fn from(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self { message: status.message.clone(), code: Some(status.code) },
            other => Self { message: chain(other), code: None },
        }
    }
}

impl From<&kube::runtime::watcher::Error> for Failure {
    fn from(error: &kube::runtime::watcher::Error) -> Self {
        use kube::runtime::watcher::Error;
        match error {
            Error::InitialListFailed(error) | Error::WatchStartFailed(error) | Error::WatchFailed(error) => {
                error.into()
            }
            Error::WatchError(status) => Self { message: status.message.clone(), code: Some(status.code) },
            Error::NoResourceVersion => Self { message: error.to_string(), code: None },
        }
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}
