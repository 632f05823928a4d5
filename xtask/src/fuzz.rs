//! `cargo xtask fuzz`: every fuzz target for a while, on the nightly compiler that coverage needs.

use crate::process::{self, Failure, step};
use crate::tools;

const CARGO_FUZZ: &str = "0.13.2";

/// How targets are built. Without the address sanitizer: what it finds is unsafe code, which every crate of ours
/// forbids, and all targets are one package, whose dependencies it would instrument for the better part of an hour.
const BUILD: [&str; 4] = ["--sanitizer", "none", "--codegen-units", "16"];

/// What targets begin with, for little of their input comes about by chance: files from the workspace's root.
const SEEDS: [(&str, &str); 5] = [
    ("chunks", "fuzz/seeds/chunks"),
    ("edits", "fuzz/seeds/edits"),
    ("heads", "fuzz/seeds/heads"),
    ("resolve", "examples"),
    ("yaml", "examples"),
];

/// How long, and what.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Only these targets.
    targets: Vec<String>,
}

/// Fuzzes.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let fuzz = tools::cargo_tool("cargo-fuzz", CARGO_FUZZ)?;
    let fuzz = fuzz.to_string_lossy();
    let targets = if options.targets.is_empty() { all_targets(&fuzz)? } else { options.targets.clone() };
    for target in targets {
        step(&format!("fuzz {target}"), || {
            let corpus = process::root().join("fuzz/corpus").join(&target);
            std::fs::create_dir_all(&corpus).map_err(Failure::file(&corpus))?;
            let seeds = SEEDS.iter().find(|(seeded, _)| *seeded == target).map(|(_, folder)| folder);
            let time = format!("-max_total_time={}", options.seconds);
            let mut run = process::command(&fuzz, &["run"]);
            run.args(BUILD).arg(&target).arg(&corpus).args(seeds).args(["--", &time, "-timeout=10"]);
            process::run(run.env("RUSTUP_TOOLCHAIN", "nightly"))
        })?;
    }
    Ok(())
}

fn all_targets(fuzz: &str) -> Result<Vec<String>, Failure> {
    let listed = process::output(process::command(fuzz, &["list"]).env("RUSTUP_TOOLCHAIN", "nightly"))?;
    Ok(listed.lines().map(str::to_owned).collect())
}
