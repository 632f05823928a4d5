//! What a path depends on: every name on the way to what it finally means, links followed.

use super::Watch;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links on one way, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// A name in a folder, whose path is free of links. If it comes to mean something else, so does the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) folder: PathBuf,
    pub(crate) name: OsString,
}

/// The hops of an absolute path, as far as they exist and one beyond.
///
/// Of kubelet's `/conf/a.yaml -> ..data/a.yaml` with `..data -> ..2026` these are, after those of `/conf`,
/// `a.yaml`, `..data` and `..2026` in `/conf`, and `a.yaml` in `/conf/..2026`.
pub(crate) fn follow(path: &Path, watch: Watch<'_>) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut real = PathBuf::from("/");
    let mut ahead = steps(path);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        let name = match step {
            Step::Up => {
                real.pop();
                continue;
            }
            Step::Down(name) => name,
        };
        watch(&real);
        hops.push(Hop { folder: real.clone(), name: name.clone() });
        let next = real.join(name);
        match fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                let Ok(target) = fs::read_link(&next) else { break };
                if links > MAX_LINKS {
                    break;
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                ahead.extend(steps(&target));
            }
            Ok(_) => real = next,
            Err(_) => break,
        }
    }
    hops
}

enum Step {
    Up,
    Down(OsString),
}

/// The steps of a path, the last first.
fn steps(path: &Path) -> Vec<Step> {
    let steps = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    steps.collect()
}
