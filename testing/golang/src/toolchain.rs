//! The Go that is installed.

use std::{env, process::Command};

/// The minor release of the Go that is installed: 26 of `go version go1.26.8 linux/amd64`.
fn release() -> Option<u32> {
    let output = Command::new("go").arg("version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("go1.").nth(1)?.split(['.', ' ']).next()?.parse().ok()
}

/// Whether there is a Go that can fetch the toolchains it needs, so 1.21 or later. Without one a laptop skips what
/// needs it, saying so, and CI fails.
///
/// # Panics
/// In CI, where there is none.
#[must_use]
pub fn is_usable() -> bool {
    let lacking = match release() {
        Some(minor) if minor >= 21 => return true,
        Some(minor) => format!("go 1.{minor} is too old to fetch newer ones"),
        None => "go is not installed".to_owned(),
    };
    assert!(env::var("CI").as_deref() != Ok("true"), "{lacking}");
    eprintln!("skipped: {lacking}");
    false
}
