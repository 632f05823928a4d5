//! What a program prints, shown and kept.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use crate::{Error, programs};

/// Runs a command to its end, shows the lines that say how a test goes, and keeps all of them in a file.
/// Returns whether it exited with 0.
pub(super) fn tee(command: &mut Command, log: &Path) -> Result<bool, Error> {
    let mut kept = File::create(log).map_err(Error::file(log))?;
    let errors = kept.try_clone().map_err(Error::file(log))?;
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
    let mut child = started.map_err(|cause| programs::start_failure(command, cause))?;
    let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(|output| output.split(b'\n'));
    for line in lines {
        let mut line = line.map_err(Error::file(log))?;
        line.push(b'\n');
        kept.write_all(&line).map_err(Error::file(log))?;
        let text = String::from_utf8_lossy(&line);
        if is_progress(&text) {
            print!("{text}");
        }
    }
    let status = child.wait().map_err(|cause| programs::start_failure(command, cause))?;
    Ok(status.success())
}

/// Whether a line tells how the run goes: the verdict on a test of the suite (indented once below the one
/// test that runs them), or on all.
fn is_progress(line: &str) -> bool {
    let inner = line.strip_prefix("    ").unwrap_or(line);
    inner.starts_with("--- ") || matches!(line.trim_end(), "PASS" | "FAIL") || line.starts_with("panic:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_progress_and_chatter_is_not() {
        assert!(is_progress("--- FAIL: TestConformance (3.2s)\n"));
        assert!(is_progress("    --- PASS: TestConformance/GatewayModifyListeners (1.0s)\n"));
        assert!(!is_progress("        --- PASS: TestConformance/GatewayModifyListeners/part (1.0s)\n"));
        assert!(is_progress("FAIL\n"));
        assert!(!is_progress("=== RUN   TestConformance\n"));
        assert!(!is_progress("    apply.go:275: 2026-11-30 Creating x Gateway\n"));
    }
}
