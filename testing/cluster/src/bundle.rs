//! A release of the Gateway API: its CRDs.

use std::{fs, path::PathBuf};

use portcullis_golang::GATEWAY_API;

use crate::Error;

/// A release's CRDs, as far as they are to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The release, such as `v1.7.0`.
    pub version: String,
    /// The channel.
    pub channel: Channel,
    /// Whether the admission policy comes along that refuses experimental CRDs over standard ones,
    /// and older over newer; releases have it since v1.5.
    pub safe_upgrades: bool,
}

/// A release channel of the Gateway API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    /// What is stable.
    Standard,
    /// That, and more kinds and fields.
    #[default]
    Experimental,
}

impl Default for Bundle {
    /// The release that is implemented, experimental channel.
    fn default() -> Self {
        Self { version: "v1.7.0".to_owned(), channel: Channel::default(), safe_upgrades: true }
    }
}

impl Bundle {
    /// The files to apply, downloaded if need be.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let channel = match self.channel {
            Channel::Standard => "config/crd/standard",
            Channel::Experimental => "config/crd/experimental",
        };
        let folder = GATEWAY_API.at(&self.version).folder()?.join(channel);
        let entries = fs::read_dir(&folder).map_err(Error::file(&folder))?.flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("gateway.") && (self.safe_upgrades || !name.ends_with("_vap_safeupgrades.yaml"))
        });
        files.sort();
        Ok(files)
    }
}
