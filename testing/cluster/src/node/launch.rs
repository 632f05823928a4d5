//! Starting a container's process.
//!
//! It sees the machine's files under a layer of its own, so that it can write anywhere and nothing of
//! it is left, with the pod's volumes at their mount paths.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdout, Command},
};

use super::{
    sandbox::{Sandbox, child_of},
    tools::{self, ToolError},
};

/// Lays the layer over the machine's files, mounts what is to be mounted in it, and becomes the
/// program when it is told to: its number is to be known while it lives. Mount paths are resolved inside
/// the layer, so that a link in one cannot lead out of it.
const LAYER: &str = r#"
scratch=$1 directory=$2
shift 2
root=$scratch/root
mount -t tmpfs -o mode=0755 scratch "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" root "$root"
while [ "$1" != -- ]; do
    source=$2 target=$root$(chroot "$root" realpath -m -- "$3")
    if [ -d "$source" ]; then
        mkdir -p "$target"
    else
        mkdir -p "${target%/*}"
        : >> "$target"
    fi
    mount -o "$1" -- "$source" "$target"
    shift 3
done
shift
[ "$directory" = / ] || chroot "$root" mkdir -p -- "$directory"
echo laid
read -r go
exec chroot "$root" env -i -C "$directory" "$@" < /dev/null
"#;

/// What is seen at a path of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    pub(crate) path: String,
    pub(crate) options: &'static str,
}

/// What to run, and where.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: &'a str,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
}

/// A container's process.
#[derive(Debug)]
pub(crate) struct Process {
    /// Ends when the container's process does, and as it did.
    pub(crate) child: Child,
    /// The container's process as this program sees it.
    pub(crate) pid: Pid,
    /// What it prints, if nobody has taken it yet.
    pub(crate) output: Option<(BufReader<ChildStdout>, ChildStderr)>,
}

impl Launch<'_> {
    /// Starts the program and waits until it is in its place.
    ///
    /// # Errors
    /// When there is no process or no layer. That there is no such program is said on the process's
    /// error output and by its status.
    pub(crate) async fn start(&self, sandbox: &Sandbox, scratch: &Path) -> Result<Process, ToolError> {
        let folder = fs::create_dir_all(scratch);
        folder.map_err(|error| ToolError::failed("mkdir", format!("{}: {error}", scratch.display())))?;
        let mut child = tools::start(&mut self.command(sandbox, scratch))?;
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ToolError::failed("layer", "no way to talk to it"));
        };
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let laid = stdout.read_line(&mut line).await.is_ok() && line == "laid\n";
        let pid = child.id().and_then(child_of);
        if let (true, Some(pid)) = (laid, pid)
            && stdin.write_all(b"go\n").await.is_ok()
        {
            return Ok(Process { child, pid, output: Some((stdout, stderr)) });
        }
        let mut message = String::new();
        if let Err(error) = stderr.read_to_string(&mut message).await {
            message = error.to_string();
        }
        Err(ToolError::failed("layer", message.trim()))
    }

    /// The variables as `NAME=VALUE`.
    pub(crate) fn variables(&self) -> impl Iterator<Item = String> {
        self.environment.iter().map(|(name, value)| format!("{name}={value}"))
    }

    fn command(&self, sandbox: &Sandbox, scratch: &Path) -> Command {
        let mut command = sandbox.enter();
        // A session of its own makes the program and its children one process group.
        command.args([
            "setsid",
            "unshare",
            "--mount",
            "--propagation",
            "slave",
            "sh",
            "-e",
            "-c",
            LAYER,
            "layer",
        ]);
        command.arg(scratch).arg(self.directory);
        for mount in &self.mounts {
            command.arg(mount.options).arg(&mount.source).arg(&mount.path);
        }
        command.arg("--");
        command.args(self.variables()).args(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Process {
    /// Sends a signal to the container's processes, unless they are gone.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.child.id().and_then(child_of) != Some(self.pid) {
            return; // its number may be another's by now
        }
        if let Err(error) = kill_process_group(self.pid, signal) {
            tracing::debug!(%error, "a process that was to be ended is gone already");
        }
    }
}

/// What the layer shows of the machine besides the root file system: whatever is mounted elsewhere.
pub(crate) fn host_mounts() -> io::Result<Vec<Mount>> {
    Ok(top_mounts(&fs::read_to_string("/proc/self/mountinfo")?))
}

/// The outermost mount points, from the text of `mountinfo` (proc_pid_mountinfo(5)).
fn top_mounts(mountinfo: &str) -> Vec<Mount> {
    let points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).filter(|point| *point != "/");
    let mut points: Vec<String> = points.map(|point| point.replace("\\040", " ")).collect();
    points.sort();
    let mut top: Vec<String> = Vec::new();
    for point in points {
        if !top.iter().any(|outer| point == *outer || point.starts_with(&format!("{outer}/"))) {
            top.push(point);
        }
    }
    let mount = |point: String| Mount { source: PathBuf::from(&point), path: point, options: "rbind" };
    top.into_iter().map(mount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outermost_mounts_are_taken() {
        let mountinfo = "\
22 1 254:0 / / rw - ext4 /dev/root rw
23 22 0:20 / /proc rw - proc proc rw
24 22 0:21 / /sys rw - sysfs sysfs rw
25 24 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw
26 22 0:23 / /with\\040space rw - tmpfs tmpfs rw
27 22 0:24 / /sys2 rw - tmpfs tmpfs rw
28 23 0:25 / /proc rw - proc proc rw
";
        let paths: Vec<String> = top_mounts(mountinfo).into_iter().map(|mount| mount.path).collect();
        assert_eq!(paths, ["/proc", "/sys", "/sys2", "/with space"]);
    }
}
