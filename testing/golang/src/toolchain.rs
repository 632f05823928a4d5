//! The Go that is installed.

use std::process::Command;

/// The minor release of the Go that is installed: 26 of `go version go1.26.8 linux/amd64`.
#[must_use]
pub fn release() -> Option<u32> {
    let output = Command::new("go").arg("version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("go1.").nth(1)?.split(['.', ' ']).next()?.parse().ok()
}
