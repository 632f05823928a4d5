//! Keeping a pod's volumes as the API says, from before its first container to its end.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::{Pod, Volume};

use super::{Kind, content::Files, files, kind, writing::write};
use crate::node::{
    limits::RETRY,
    pod::{PodRun, Preparation},
    sources::{Inputs, Lacking},
};

/// Why a volume is not there.
#[derive(Debug, thiserror::Error)]
enum VolumeError {
    #[error("volume {volume:?}: {cause}")]
    Lacking { volume: String, cause: Lacking },
    #[error("volume {volume:?}: {cause}")]
    Write { volume: String, cause: io::Error },
    #[error("volume {0:?} is of a kind that this node does not have")]
    Unknown(String),
}

/// A volume of files from the API.
struct Kept {
    name: String,
    parts: Vec<super::Projection>,
    folder: PathBuf,
    written: Option<Files>,
    generation: u64,
}

/// Where a volume is found on the machine.
pub(crate) fn place(volume: &Volume, pod_folder: &Path) -> PathBuf {
    match kind(volume) {
        Some(Kind::Host(path)) => path,
        _ => pod_folder.join("volumes").join(&volume.name),
    }
}

/// Writes the volumes and follows changes for as long as it is polled. A pod whose volumes have once
/// been whole keeps what it has when a source vanishes.
pub(crate) async fn keep(run: &PodRun) {
    let (mut inputs, mut pod) = (run.inputs.clone(), run.pod.clone());
    let mut volumes = loop {
        match prepare(&pod.borrow(), &run.folder) {
            Ok(volumes) => break volumes,
            Err(error) => run.say(Preparation::Waiting(error.to_string())),
        }
        tokio::time::sleep(RETRY).await;
    };
    let mut whole = false;
    loop {
        let (known, seen) = (inputs.borrow_and_update().clone(), pod.borrow_and_update().clone());
        match volumes.iter_mut().try_for_each(|volume| volume.update(&seen, &known)) {
            Ok(()) if whole => {}
            Ok(()) => {
                whole = true;
                run.say(Preparation::Whole);
            }
            Err(error) if whole => tracing::debug!(pod = %run.name, %error, "kept as it was"),
            Err(error) => run.say(Preparation::Waiting(error.to_string())),
        }
        tokio::select! {
            changed = inputs.changed() => if changed.is_err() { return },
            changed = pod.changed() => if changed.is_err() { return },
        }
    }
}

/// Makes the folders that start empty, and lists the volumes that hold files.
fn prepare(pod: &Pod, pod_folder: &Path) -> Result<Vec<Kept>, VolumeError> {
    let mut kept = Vec::new();
    for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
        let folder = place(volume, pod_folder);
        match kind(volume) {
            Some(Kind::Host(_)) => {}
            Some(Kind::Empty) => {
                empty(&folder).map_err(|cause| VolumeError::Write { volume: volume.name.clone(), cause })?;
            }
            Some(Kind::Files(parts)) => {
                kept.push(Kept { name: volume.name.clone(), parts, folder, written: None, generation: 0 });
            }
            None => return Err(VolumeError::Unknown(volume.name.clone())),
        }
    }
    Ok(kept)
}

/// Anyone may write to an `emptyDir`, whatever user the container runs as.
fn empty(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777))
}

impl Kept {
    fn update(&mut self, pod: &Pod, inputs: &Inputs) -> Result<(), VolumeError> {
        let files = files(&self.parts, pod, inputs)
            .map_err(|cause| VolumeError::Lacking { volume: self.name.clone(), cause })?;
        if self.written.as_ref() == Some(&files) {
            return Ok(());
        }
        self.generation += 1;
        write(&self.folder, self.generation, &files)
            .map_err(|cause| VolumeError::Write { volume: self.name.clone(), cause })?;
        self.written = Some(files);
        Ok(())
    }
}
