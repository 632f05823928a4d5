//! Load from wrk, and what it saw.

use std::net::SocketAddr;
use std::path::Path;

use super::peer::LOAD_CORE;
use crate::process::{self, Failure};

/// What a run of load saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Answers.
    pub(crate) requests: u64,
    /// Answers a second.
    pub(crate) rate: f64,
    /// The 99th percentile of the time to an answer, in microseconds.
    pub(crate) p99: u64,
    /// Answers of another status than 2xx or 3xx, and failures of connections.
    pub(crate) errors: u64,
    /// Bytes of all answers, heads included.
    pub(crate) bytes: u64,
}

/// Loads an address for some seconds with 64 kept connections, paths chosen evenly at random of `rules`.
///
/// # Errors
/// When wrk fails, or any answer was not what it had to be.
pub(crate) fn load(
    folder: &Path,
    address: SocketAddr,
    rules: usize,
    seconds: u32,
    answer_size: usize,
) -> Result<Seen, Failure> {
    let script = folder.join("load.lua");
    let source = process::root().join("testing/bench/load.lua");
    std::fs::copy(&source, &script).map_err(Failure::file(&source))?;
    let mut command = process::command("taskset", &["-c", LOAD_CORE, "wrk", "-t1", "-c64"]);
    command.arg(format!("-d{seconds}s")).arg("-s").arg(&script).arg(format!("http://{address}"));
    command.arg("--").arg(rules.to_string());
    let printed = process::output(&mut command)?;
    let seen =
        parse(&printed).ok_or_else(|| Failure::Other(format!("wrk printed no figures:\n{printed}")))?;
    check(seen, answer_size)?;
    Ok(seen)
}

fn parse(printed: &str) -> Option<Seen> {
    let line = printed.lines().find_map(|line| line.strip_prefix("figures "))?;
    let mut fields = line.split_whitespace();
    Some(Seen {
        requests: fields.next()?.parse().ok()?,
        rate: fields.next()?.parse().ok()?,
        p99: fields.next()?.parse().ok()?,
        errors: fields.next()?.parse().ok()?,
        bytes: fields.next()?.parse().ok()?,
    })
}

/// No error, and as many bytes as that many answers have; at the end 64 of them may be cut.
fn check(seen: Seen, answer_size: usize) -> Result<(), Failure> {
    let expected = seen.requests * answer_size as u64;
    if seen.errors > 0 || seen.bytes.abs_diff(expected) > 64 * answer_size as u64 {
        return Err(Failure::Other(format!("wrong answers under load ({answer_size} bytes each): {seen:?}")));
    }
    Ok(())
}
