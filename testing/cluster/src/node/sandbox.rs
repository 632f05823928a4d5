//! The namespaces of a pod: processes, network, mounts, host name.
//!
//! They live as long as their first process, a shell that waits. It dies with its keeper (`unshare
//! --kill-child`), the keeper dies with this program (`setpriv --pdeathsig`), and with the first
//! process of a process namespace the kernel ends all others: whatever way this program ends, nothing
//! of a pod stays behind.

use std::{fs, net::Ipv4Addr, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use super::{
    limits::SANDBOX,
    network::{Lease, Network},
    tools::{self, ToolError},
};

/// What the first process does: it says when it is there, and waits, and collects orphans.
const FIRST: &str = r#"hostname "$1" 2>/dev/null; echo ready; while :; do sleep 1000000; done"#;

/// A pod's namespaces.
#[derive(Debug)]
pub(crate) struct Sandbox {
    keeper: Child,
    /// The first process, as this program sees it.
    first: Pid,
    lease: Option<Lease>,
    host: Ipv4Addr,
}

impl Sandbox {
    /// Namespaces for a pod. A pod of the host's network has no network namespace of its own.
    ///
    /// # Errors
    /// When the kernel refuses, which may be for lack of rights or because the last owner of the
    /// address has not gone altogether: the next try has another.
    pub(crate) async fn start(name: &str, network: &Network, host_network: bool) -> Result<Self, ToolError> {
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--pid",
            "--mount",
            "--uts",
            "--fork",
            "--kill-child",
        ]);
        // What the machine unmounts is unmounted here too: a network namespace that is given up lives on
        // for as long as anybody has it mounted.
        command.args(["--mount-proc", "--propagation", "slave"]);
        if !host_network {
            command.arg("--net");
        }
        command.args(["sh", "-c", FIRST, "sh", name]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = tools::start(&mut command)?;
        let first = timeout(SANDBOX, first_process(&mut keeper)).await;
        let first = first.map_err(|_| ToolError::failed("unshare", "no namespaces in time"))??;
        let mut sandbox = Self { keeper, first, lease: None, host: network.host };
        if !host_network {
            let lease = network.lease().ok_or_else(|| ToolError::failed("ip", "no address is left"))?;
            network.attach(first, &lease).await?;
            sandbox.lease = Some(lease);
        }
        Ok(sandbox)
    }

    /// The pod's address.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.lease.as_ref().map_or(self.host, |lease| lease.address)
    }

    /// A command that runs a program in the namespaces; the program is the only child of the command's
    /// process.
    pub(crate) fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.first.as_raw_nonzero().to_string());
        command.args(["--pid", "--net", "--mount", "--uts"]);
        command
    }

    /// Ends every process in the namespaces, and them.
    pub(crate) async fn end(mut self) {
        // The first process is gone only when all others are (pid_namespaces(7)), and the keeper after it.
        if let Err(error) = kill_process(self.first, Signal::KILL) {
            tracing::debug!(%error, "a pod's first process is gone already");
        }
        if let Err(error) = self.keeper.wait().await {
            tracing::warn!(%error, "a pod's namespaces cannot be waited for");
        }
    }
}

async fn first_process(keeper: &mut Child) -> Result<Pid, ToolError> {
    let failed = |message: &str| ToolError::failed("unshare", message);
    let output = keeper.stdout.take().ok_or_else(|| failed("no output"))?;
    let mut errors = keeper.stderr.take().ok_or_else(|| failed("no output"))?;
    let line = BufReader::new(output).lines().next_line().await;
    if !matches!(line, Ok(Some(line)) if line == "ready") {
        let mut message = String::new();
        return Err(match errors.read_to_string(&mut message).await {
            Ok(_) => failed(message.trim()),
            Err(error) => failed(&error.to_string()),
        });
    }
    keeper.id().and_then(child_of).ok_or_else(|| failed("the first process is gone"))
}

/// The only child of a process; None while or when there is none.
pub(crate) fn child_of(process: u32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}
