//! [`Batch`]: what a cluster has said since the last one.

use portcullis_api::{Kind, ObjectKey};
use portcullis_store::Change;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// What a cluster has said since the last batch, to be applied as one.
#[derive(Debug, Default)]
pub struct Batch {
    /// What differs, in order.
    pub changes: Vec<Change>,
    /// For kinds whose status is ours to write: what the API server holds now, in order.
    pub seen: Vec<Seen>,
    /// What has begun or ceased to keep us from reading the cluster.
    pub problems: Vec<Problem>,
    /// Whether every kind that the cluster serves has been listed, and all that the objects refer to has been read:
    /// what was handed on so far is a whole configuration. It stays so.
    pub synced: bool,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.seen.is_empty() && self.problems.is_empty()
    }
}

/// What the API server holds of an object whose status is ours to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which object.
    pub key: ObjectKey,
    /// None: it is gone.
    pub held: Option<Held>,
}

/// What a status writer needs to know of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The version in which it was read, such as `v1`; statuses are written in the same.
    pub version: &'static str,
    /// Tells it from an earlier object of the same name.
    pub uid: Arc<str>,
    /// What a write is made against.
    pub resource_version: Arc<str>,
    /// Which generation of the spec it is.
    pub generation: i64,
    /// Its status as the API server has it, foreign parts included.
    pub status: Option<Arc<Value>>,
}

/// What keeps us from reading the cluster, or no longer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What cannot be read.
    pub subject: Subject,
    /// One line with the cause; none once it is over.
    pub message: Option<String>,
}

/// What cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Which kinds and versions the API server serves.
    Discovery,
    /// The objects of a kind.
    Kind(Kind),
    /// One object that others refer to.
    Object(ObjectKey),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discovery => f.write_str("the kinds that are served"),
            Self::Kind(kind) => kind.fmt(f),
            Self::Object(object) => object.fmt(f),
        }
    }
}
