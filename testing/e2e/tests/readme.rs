//! What README and the examples tell a reader to type answers as they say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use portcullis_e2e::program::{self, Portcullis};
use portcullis_e2e::transcript::{self, Step};

/// The documented ports are everybody's: one at a time.
static PORTS: Mutex<()> = Mutex::new(());

/// Where the documentation finds the admin endpoint; a test's program has it elsewhere.
const ADMIN: &str = "localhost:9975";

fn follow(steps: &[Step], running: &Portcullis, whence: &str) {
    assert!(!steps.is_empty(), "{whence} has nothing to try");
    for Step { command, answer } in steps {
        let step =
            Step { command: command.replace(ADMIN, &running.admin.to_string()), answer: answer.clone() };
        assert_eq!(step.run(), *answer, "{whence}: $ {command}");
    }
}

#[test]
fn the_first_command_serves_and_its_curl_lines_answer_as_printed() {
    let _ports = PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    let readme = fs::read_to_string(program::root().join("README.md")).unwrap();
    let first = readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- ")).unwrap();
    let running = Portcullis::documented(first);
    let steps = transcript::steps(transcript::fenced(&readme, "<!-- test: readme -->"));
    follow(&steps, &running, "README.md");
}

/// What the comment at an example's head says: programs to start, and steps to take.
struct Example {
    path: PathBuf,
    programs: Vec<String>,
    steps: Vec<Step>,
}

fn examples() -> Vec<Example> {
    let folder = fs::read_dir(program::root().join("examples")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let head: Vec<&str> = head.filter_map(|line| line.strip_prefix("#   ")).collect();
        let programs = head.iter().filter_map(|line| line.strip_prefix("portcullis ")).map(str::to_owned);
        Example { path, programs: programs.collect(), steps: transcript::steps(head.iter().copied()) }
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_example_answers_as_its_head_says() {
    let _ports = PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    for example in examples() {
        let running: Vec<Portcullis> =
            example.programs.iter().map(|line| Portcullis::documented(line)).collect();
        let path = example.path.display().to_string();
        let serving = running.first().unwrap_or_else(|| panic!("{path} does not say how to run it"));
        follow(&example.steps, serving, &path);
    }
}

#[test]
fn check_finds_no_error_in_any_example() {
    let mut paths: Vec<PathBuf> = examples().into_iter().map(|example| example.path).collect();
    paths.push(program::root().join("examples/quickstart"));
    for path in paths {
        let output = program::output(["check".as_ref(), path.as_os_str()]);
        let said = String::from_utf8_lossy(&output.stdout);
        let expected = if path.ends_with("reference-grant.yaml") { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{}: {said}", path.display());
    }
}

/// The pages that a reader may begin at.
fn pages() -> Vec<PathBuf> {
    let of = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = of(program::root()).chain(of(program::root().join("docs"))).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages
}

#[test]
fn every_link_within_the_documentation_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
            assert!(page.parent().unwrap().join(target).exists(), "{}: {target}", page.display());
        }
    }
}
