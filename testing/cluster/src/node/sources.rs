//! What a pod takes from the API: Secrets, ConfigMaps and tokens of its service account.

mod named;
mod tokens;
mod watching;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub(crate) use named::{claims, named};
pub(crate) use tokens::request_tokens;
pub(crate) use watching::watch;

/// A Secret or ConfigMap in the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Secret(String),
    ConfigMap(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret(name) => write!(f, "secret {name:?}"),
            Self::ConfigMap(name) => write!(f, "configmap {name:?}"),
        }
    }
}

/// A token that a pod asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    /// None: the API server's own.
    pub(crate) audience: Option<String>,
    /// Lifetime in seconds.
    pub(crate) seconds: i64,
}

/// The entries of a Secret or ConfigMap.
pub(crate) type Entries = BTreeMap<String, Vec<u8>>;

/// What is known of everything that a pod names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    /// An entry that is absent was not asked for yet; None is known not to exist.
    pub(crate) sources: BTreeMap<Source, Option<Arc<Entries>>>,
    /// Tokens that were issued.
    pub(crate) tokens: BTreeMap<Claim, String>,
}

/// Why a pod or container waits for what it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lacking {
    #[error("{0} is not read yet")]
    Unread(Source),
    #[error("{0} not found")]
    Source(Source),
    #[error("{0} has no key {1:?}")]
    Key(Source, String),
    #[error("no token is issued yet")]
    Token,
}

impl Inputs {
    /// The entries of what a pod names; None where it is optional and does not exist.
    pub(crate) fn entries(&self, source: &Source, optional: bool) -> Result<Option<&Entries>, Lacking> {
        match self.sources.get(source) {
            None => Err(Lacking::Unread(source.clone())),
            Some(Some(entries)) => Ok(Some(entries)),
            Some(None) if optional => Ok(None),
            Some(None) => Err(Lacking::Source(source.clone())),
        }
    }

    /// One entry; None where it is optional and does not exist.
    pub(crate) fn entry(&self, source: &Source, key: &str, optional: bool) -> Result<Option<&[u8]>, Lacking> {
        let entry = self.entries(source, optional)?.and_then(|entries| entries.get(key));
        match entry {
            Some(value) => Ok(Some(value)),
            None if optional => Ok(None),
            None => Err(Lacking::Key(source.clone(), key.to_owned())),
        }
    }
}
