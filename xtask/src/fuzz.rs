//! `cargo xtask fuzz`: every fuzz target for a while, on the nightly compiler that coverage needs.
//!
//! A target begins with its corpus in `fuzz/corpora`, which `cargo xtask test` replays without that compiler, and with
//! what earlier runs on this machine found.

mod progress;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Failure, step};
use crate::tools;
use progress::Progress;

const CARGO_FUZZ: &str = "0.13.2";

/// How targets are built. Without the address sanitizer: what it finds is unsafe code, which every crate of ours
/// forbids, and all targets are one package, whose dependencies it would instrument for the better part of an hour.
const BUILD: [&str; 4] = ["--sanitizer", "none", "--codegen-units", "16"];

/// How inputs are added to those that are kept: the fewest that together take every edge, however often.
const MERGE: [&str; 3] = ["-set_cover_merge=1", "-use_counters=0", "-verbosity=0"];

/// What targets begin with beside their corpora: files from the workspace's root.
const SEEDS: [(&str, &str); 2] = [("resolve", "examples"), ("yaml", "examples")];

/// How long, and what.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds for each target, at most.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seconds without a new edge after which a target ends sooner.
    #[arg(long)]
    quiet: Option<u64>,
    /// Adds to `fuzz/corpora` what reaches further than it does.
    #[arg(long)]
    keep: bool,
    /// Only these targets.
    targets: Vec<String>,
}

/// Fuzzes.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let fuzz = tools::cargo_tool("cargo-fuzz", CARGO_FUZZ)?;
    let fuzz = fuzz.to_string_lossy();
    let targets = if options.targets.is_empty() { all_targets(&fuzz)? } else { options.targets.clone() };
    step("instrumented build", || {
        let triple = triple();
        let mut build = process::command(&fuzz, &["build", "--target", &triple, "--target-dir"]);
        process::run(build.arg(folder("target")).args(BUILD).env("RUSTUP_TOOLCHAIN", "nightly"))
    })?;
    for target in targets {
        step(&format!("fuzz {target}"), || Fuzzed::new(&target)?.run(options))?;
    }
    Ok(())
}

fn all_targets(fuzz: &str) -> Result<Vec<String>, Failure> {
    let listed = process::output(process::command(fuzz, &["list"]).env("RUSTUP_TOOLCHAIN", "nightly"))?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn folder(name: &str) -> PathBuf {
    process::root().join("fuzz").join(name)
}

/// A target and where its inputs are.
struct Fuzzed {
    program: PathBuf,
    /// What runs on this machine found.
    corpus: PathBuf,
    /// What every run begins with.
    committed: PathBuf,
    /// Inputs that break a promise.
    artifacts: PathBuf,
    seeds: Option<&'static str>,
}

impl Fuzzed {
    fn new(target: &str) -> Result<Fuzzed, Failure> {
        let [corpus, committed, artifacts] =
            ["corpus", "corpora", "artifacts"].map(|name| folder(name).join(target));
        for folder in [&corpus, &committed, &artifacts] {
            std::fs::create_dir_all(folder).map_err(Failure::file(folder))?;
        }
        let program = folder("target").join(triple()).join("release").join(target);
        let seeds = SEEDS.iter().find(|(seeded, _)| *seeded == target).map(|(_, folder)| *folder);
        Ok(Fuzzed { program, corpus, committed, artifacts, seeds })
    }

    fn run(&self, options: &Options) -> Result<(), Failure> {
        let mut command = self.command();
        command.arg(&self.corpus).arg(&self.committed).args(self.seeds);
        command.args([&format!("-max_total_time={}", options.seconds), "-timeout=10"]);
        let progress = Progress::follow(&mut command, options.quiet.map(Duration::from_secs))?;
        println!("{progress}; the corpus here: {}", size(&self.corpus));
        if options.keep {
            let mut merge = self.command();
            process::run(merge.args(MERGE).arg(&self.committed).arg(&self.corpus))?;
            println!("the corpus that is kept: {}", size(&self.committed));
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = process::command(&self.program.to_string_lossy(), &[]);
        command.arg(format!("-artifact_prefix={}/", self.artifacts.display()));
        command
    }
}

/// How many inputs a folder has, and how large they are together.
fn size(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes: Vec<u64> = files.filter_map(|file| Some(file.metadata().ok()?.len())).collect();
    format!("{} inputs of {} kB", sizes.len(), sizes.iter().sum::<u64>().div_ceil(1000))
}
