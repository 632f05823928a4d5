//! What libFuzzer says while it runs.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::process::Failure;

/// How often the clock is looked at while nothing is said.
const LOOK: Duration = Duration::from_secs(1);

/// How far a run has come.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Inputs that were run.
    runs: u64,
    /// Edges of the program's flow that some input has taken.
    edges: u64,
    /// How long the run has taken, and its time since the last new edge.
    time: Duration,
    quiet: Duration,
}

impl Progress {
    /// Runs a target to its end, or until no edge was new for as long as `quiet`.
    ///
    /// # Errors
    /// When it cannot be started, and when it ends badly: an input has broken a promise.
    pub(super) fn follow(command: &mut Command, quiet: Option<Duration>) -> Result<Progress, Failure> {
        let name = command.get_program().to_string_lossy().into_owned();
        let started = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
        let mut child = started.map_err(|cause| Failure::Start { program: name.clone(), cause })?;
        let lines = child.stderr.take().map(lines);
        let mut progress = Progress::default();
        let stopped = lines.is_some_and(|lines| progress.watch(&lines, quiet));
        if stopped {
            let _ = child.kill(); // what it has found is on disk
        }
        let status = child.wait().map_err(|cause| Failure::Other(format!("{name}: {cause}")))?;
        if stopped || status.success() { Ok(progress) } else { Err(Failure::Exit { command: name }) }
    }

    /// Whether it was quiet for too long before the lines ended.
    fn watch(&mut self, lines: &Receiver<String>, quiet: Option<Duration>) -> bool {
        let start = Instant::now();
        let mut news = start;
        loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => match self.take(&line) {
                    Some(true) => news = Instant::now(),
                    Some(false) => {}
                    None if line.starts_with('\t') => {} // names of functions that are new, without their names
                    None => eprintln!("{line}"),
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            (self.time, self.quiet) = (start.elapsed(), news.elapsed());
            if quiet.is_some_and(|quiet| self.quiet >= quiet) {
                return true;
            }
        }
    }

    /// Takes a line of progress, `#1234 NEW cov: 56 ft: 78 …`, and says whether an edge in it is new.
    fn take(&mut self, line: &str) -> Option<bool> {
        let mut words = line.split_whitespace();
        let runs = words.next()?.strip_prefix('#')?.parse().ok()?;
        let edges = words.skip_while(|word| *word != "cov:").nth(1)?.parse().ok()?;
        let new = edges > self.edges;
        (self.runs, self.edges) = (runs, edges);
        Some(new)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { runs, edges, time, quiet } = self;
        let (time, quiet) = (time.as_secs(), quiet.as_secs());
        write!(f, "{edges} edges in {runs} runs and {time} s, none new for {quiet} s")
    }
}

/// The lines of a stream, from a thread that ends with it.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_progress_are_read() {
        let mut progress = Progress::default();
        assert_eq!(progress.take("INFO: Running with entropic power schedule (0xFF, 100)."), None);
        assert_eq!(progress.take("#2\tINITED cov: 120 ft: 121 corp: 1/1b exec/s: 0 rss: 41Mb"), Some(true));
        let pulse = "#4096\tpulse  cov: 120 ft: 130 corp: 9/87b lim: 43 exec/s: 2048 rss: 50Mb";
        assert_eq!(progress.take(pulse), Some(false));
        assert_eq!(progress, Progress { runs: 4096, edges: 120, ..Progress::default() });
        assert_eq!(progress.take("#5000\tNEW    cov: 121 ft: 131 corp: 10/90b"), Some(true));
    }

    #[test]
    fn a_run_without_news_is_stopped_and_one_that_ends_badly_fails() {
        let mut quiet = Command::new("sh");
        quiet.args(["-c", "echo '#1 INITED cov: 7 ft: 7' >&2; exec sleep 60"]);
        let progress = Progress::follow(&mut quiet, Some(Duration::from_millis(10))).unwrap();
        assert_eq!(progress.edges, 7);
        assert!(Progress::follow(Command::new("sh").args(["-c", "exit 77"]), None).is_err());
    }
}
