//! What the machine must let us do.

use std::{env, process::Command};

use crate::Error;

/// Whether clusters can be started here: as root, with network namespaces and Go. Where not, a test skips,
/// saying so, and CI fails.
///
/// # Panics
/// In CI, where they cannot.
#[must_use]
pub fn is_possible() -> bool {
    let lacking = match require() {
        Ok(()) => return portcullis_golang::is_usable(),
        Err(error) => error.to_string(),
    };
    assert!(env::var("CI").as_deref() != Ok("true"), "{lacking}");
    eprintln!("skipped: {lacking}");
    false
}

/// That we are root and the kernel has network namespaces.
pub(crate) fn require() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::Privilege("run it as root".to_owned()));
    }
    match Command::new("ip").args(["netns", "list"]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Error::Privilege(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(cause) => Err(Error::Privilege(format!("cannot start `ip` of iproute2: {cause}"))),
    }
}
