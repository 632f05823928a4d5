//! The long-running programs of a cluster.

use std::{
    fs::{self, OpenOptions},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};

use crate::{Error, programs};

/// A process, told from a later one of the same number by its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pid: i32,
    /// In clock ticks since boot; field 22 of proc_pid_stat(5).
    started: u64,
}

impl ProcessId {
    /// This process.
    pub(crate) fn own() -> Self {
        Self::of(getpid().as_raw_nonzero().get())
    }

    /// The process of this number; one that is gone is never alive.
    fn of(pid: i32) -> Self {
        Self { pid, started: running_since(pid).unwrap_or_default() }
    }

    pub(crate) const fn number(&self) -> i32 {
        self.pid
    }

    pub(crate) fn is_alive(&self) -> bool {
        running_since(self.pid) == Some(self.started)
    }

    /// Ends the process, at once.
    pub(crate) fn kill(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        if let (true, Some(pid)) = (self.is_alive(), Pid::from_raw(self.pid)) {
            // One that has just ended is what we want.
            let _ = kill_process(pid, signal);
        }
    }
}

/// A running program, whose output goes to a file.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) id: ProcessId,
    pub(crate) log: PathBuf,
    /// None in a process that did not start it.
    child: Option<Child>,
}

impl Component {
    /// Starts a program, out of reach of the terminal's signals. Its output is added to the log.
    pub(crate) fn start(name: &str, command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let file = OpenOptions::new().create(true).append(true).open(&log).map_err(Error::file(&log))?;
        let errors = file.try_clone().map_err(Error::file(&log))?;
        command.stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
        let child = command.spawn().map_err(|cause| programs::start_failure(command, cause))?;
        let id = ProcessId::of(i32::try_from(child.id()).unwrap_or_default());
        Ok(Self { name: name.to_owned(), id, log, child: Some(child) })
    }

    /// A program that another process started.
    pub(crate) const fn found(name: String, id: ProcessId, log: PathBuf) -> Self {
        Self { name, id, log, child: None }
    }

    /// Ends the program, at once, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.id.kill();
        self.reap();
    }

    /// Asks the program to end, and waits until it is gone; says whether it ran.
    pub(crate) fn terminate(&mut self) -> bool {
        let ran = self.id.is_alive();
        self.id.send(Signal::TERM);
        self.reap();
        ran
    }

    /// Waits for a program that has been ended.
    pub(crate) fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It was ours and is not waited for elsewhere.
            let _ = child.wait();
        }
        while self.id.is_alive() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// That it is not as it should be, with the end of what it said.
    pub(crate) fn unready(&self, what: impl Into<String>) -> Error {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.get(lines.len().saturating_sub(LAST_WORDS)..).unwrap_or_default();
        Error::Unready {
            component: self.name.clone(),
            what: what.into(),
            log: self.log.clone(),
            last_words: last.join("\n"),
        }
    }
}

/// How many lines of a log are shown.
const LAST_WORDS: usize = 12;

/// When a process was started, if it runs. A zombie does not.
fn running_since(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, field 2, may hold spaces and ends at the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that another process has taken over is not the process that was recorded.
    #[test]
    fn a_process_is_more_than_its_number() {
        let own = ProcessId::own();
        assert!(own.is_alive());
        let earlier = ProcessId { started: own.started - 1, ..own };
        assert!(!earlier.is_alive());
        earlier.kill();
    }

    #[test]
    fn a_killed_program_is_gone_and_its_output_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = Command::new("sh");
        let mut component =
            Component::start("sh", command.args(["-c", "echo begun; exec sleep 1000"]), log).unwrap();
        assert!(component.id.is_alive());
        while fs::read_to_string(&component.log).unwrap().is_empty() {
            std::thread::yield_now();
        }
        component.kill();
        assert!(!component.id.is_alive());
        let Error::Unready { last_words, .. } = component.unready("ended") else { panic!() };
        assert_eq!(last_words, "begun");
    }
}
