//! Programs that the tasks need beside Rust, installed where they lack.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use portcullis_golang::cache_folder;

use crate::process::{self, Failure};

/// A program and the Debian package that brings it.
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
}

/// For requests and certificates in tests.
pub(crate) const CURL: Tool = Tool { program: "curl", package: "curl" };
/// For the referee of admission, which is the API server's own code. Any Go since 1.21 will do: it
/// fetches the toolchain that the modules ask for.
pub(crate) const GO: Tool = Tool { program: "go", package: "golang-go" };
/// For the networks of test clusters.
pub(crate) const IP: Tool = Tool { program: "ip", package: "iproute2" };
/// For datagrams in examples.
pub(crate) const NC: Tool = Tool { program: "nc", package: "netcat-openbsd" };
/// For TLS handshakes in tests.
pub(crate) const OPENSSL: Tool = Tool { program: "openssl", package: "openssl" };
/// A browser.
pub(crate) const CHROMIUM: Tool = Tool { program: "chromium", package: "chromium" };
/// The peer that the proxy is measured beside, and the backend of both.
pub(crate) const NGINX: Tool = Tool { program: "nginx", package: "nginx-light" };
/// Load over HTTP/1.1.
pub(crate) const WRK: Tool = Tool { program: "wrk", package: "wrk" };
/// Load over HTTP/2.
pub(crate) const H2LOAD: Tool = Tool { program: "h2load", package: "nghttp2-client" };

/// Installs those of the Debian packages whose program is missing.
///
/// # Errors
/// When a package cannot be installed.
pub(crate) fn need(tools: &[Tool]) -> Result<(), Failure> {
    let missing: Vec<&str> =
        tools.iter().filter(|tool| find(tool.program).is_none()).map(|tool| tool.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("installing {}", missing.join(", "));
    process::run(&mut process::command("apt-get", &["update", "-qq"]))?;
    let mut install = process::command("apt-get", &["install", "-y", "-qq", "--no-install-recommends"]);
    process::run(install.args(&missing).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}

/// A cargo subcommand of exactly this version, built once into the cache; returns the program's path.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn cargo_tool(name: &str, version: &str) -> Result<PathBuf, Failure> {
    let home = cache_folder().join("tools").join(format!("{name}-{version}"));
    let program = home.join("bin").join(name);
    if !program.exists() {
        println!("building {name} {version}");
        let target = cache_folder().join("tools").join("target");
        let mut install =
            process::cargo(&["install", "--quiet", "--locked", name, "--version", version, "--root"]);
        process::run(install.arg(&home).env("CARGO_TARGET_DIR", &target))?;
        let _ = std::fs::remove_dir_all(target); // only the program is kept
    }
    Ok(program)
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.exists())
}

/// A command of a tool that may live in `/usr/sbin`, which a user's path may lack.
#[must_use]
pub(crate) fn command(tool: &Tool) -> Command {
    Command::new(find(tool.program).unwrap_or_else(|| PathBuf::from(tool.program)))
}
