//! What a process used, read from `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// The kernel counts CPU time in these steps (`USER_HZ`, 100 on every Linux architecture we know).
const TICK: Duration = Duration::from_millis(10);

/// CPU time of a process and its children that still run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    /// In user mode.
    pub(crate) user: Duration,
    /// In the kernel.
    pub(crate) system: Duration,
}

impl Cpu {
    /// Both together.
    #[must_use]
    pub(crate) fn total(self) -> Duration {
        self.user + self.system
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub(crate) fn since(self, earlier: Cpu) -> Cpu {
        Cpu {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

/// The CPU time that a process and its running children have used so far.
#[must_use]
pub(crate) fn cpu(pid: u32) -> Cpu {
    family(pid)
        .into_iter()
        .filter_map(|pid| cpu_of(format!("/proc/{pid}/stat")))
        .fold(Cpu::default(), |sum, one| Cpu { user: sum.user + one.user, system: sum.system + one.system })
}

/// The resident memory of a process and its running children, in bytes.
#[must_use]
pub(crate) fn resident(pid: u32) -> u64 {
    let one = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    family(pid).into_iter().filter_map(one).sum::<u64>() * 1024
}

fn family(pid: u32) -> Vec<u32> {
    let mut pids = vec![pid];
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    pids
}

/// Fields 14 and 15 of `stat`; the program's name, field 2, may hold spaces and ends at the last `)`.
fn cpu_of(path: impl AsRef<Path>) -> Option<Cpu> {
    let stat = fs::read_to_string(path).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u32>().ok().map(|ticks| TICK * ticks);
    Some(Cpu { user: ticks(11)?, system: ticks(12)? })
}
