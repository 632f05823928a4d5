//! Volumes: what a pod's volumes hold, and the folders that hold it.

mod content;
mod keeping;
mod projection;
mod writing;

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Volume;

pub(crate) use content::files;
pub(crate) use keeping::{keep, place};
pub(crate) use projection::{Projection, projections};

/// Where a volume's files come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Files from the API, which follow its changes.
    Files(Vec<Projection>),
    /// A folder that starts empty and lives as long as the pod.
    Empty,
    /// A path of the machine.
    Host(PathBuf),
}

/// The kind of a volume; None where this node has no such volumes.
pub(crate) fn kind(volume: &Volume) -> Option<Kind> {
    if volume.empty_dir.is_some() {
        return Some(Kind::Empty);
    }
    if let Some(host) = &volume.host_path {
        return Some(Kind::Host(PathBuf::from(&host.path)));
    }
    projections(volume).map(Kind::Files)
}
