//! `cargo xtask test`: everything that must hold before a change lands.

use crate::conformance;
use crate::process::{self, Failure, step};
use crate::tools::{self, CHROMIUM, CURL, GO, H2LOAD, IP, NC, OPENSSL};

/// The version of cargo-deny that judges licences, bans and sources.
const CARGO_DENY: &str = "0.20.2";

/// Which tests to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only format, lints and unit tests: what takes a minute or two.
    #[arg(long)]
    quick: bool,
}

/// Runs the tests.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    step("format", || process::run(&mut process::cargo(&["fmt", "--all", "--check"])))?;
    step("lints", || {
        let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
        process::run(&mut process::cargo(&clippy))
    })?;
    step("documentation", || {
        // With private items: a crate's table of contents names modules that only its maintainers can open.
        let doc = ["doc", "--workspace", "--no-deps", "--locked", "--quiet", "--document-private-items"];
        let mut doc = process::cargo(&doc);
        process::run(doc.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links"))
    })?;
    if options.quick {
        return step("unit tests", || {
            process::run(&mut process::cargo(&[
                "test",
                "--workspace",
                "--exclude",
                "portcullis-cluster-testing",
                "--exclude",
                "portcullis-e2e",
                "--exclude",
                "portcullis-referee",
                "--locked",
            ]))
        });
    }
    step("tools", || tools::need(&[CURL, GO, IP, OPENSSL, H2LOAD, CHROMIUM, NC]))?;
    step("licences, bans, sources", || {
        let deny = tools::cargo_tool("cargo-deny", CARGO_DENY)?;
        let mut check = process::command(&deny.to_string_lossy(), &["--log-level", "error", "check"]);
        process::run(check.args(["licenses", "bans", "sources"]))
    })?;
    step("release build", || {
        process::run(&mut process::cargo(&["build", "--release", "--package", "portcullis", "--locked"]))
    })?;
    if portcullis_cluster_testing::is_possible() {
        step("official conformance suite", || conformance::run(&conformance::Options::default()))?;
    }
    step("tests", || {
        process::run(&mut process::cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]))
    })
}

/// Writes docs/diagnostics.md and docs/limits.md anew.
pub(crate) fn write_docs() -> Result<(), Failure> {
    process::run(&mut process::cargo(&["run", "--quiet", "--package", "portcullis", "--", "docs", "docs"]))
}
