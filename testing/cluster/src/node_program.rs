//! The node, as a program.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Error, programs};

const NAME: &str = "portcullis-test-node";

/// Builds the node's program, which takes no time when nothing has changed, and returns its path.
pub(crate) fn build() -> Result<PathBuf, Error> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let package = env!("CARGO_PKG_NAME");
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--locked", "--package", package, "--bin", NAME]).current_dir(root());
    programs::output(&mut command)?;
    Ok(target_folder().join("debug").join(NAME))
}

/// Where cargo puts programs.
pub(crate) fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
