//! Numbers that matter.

use std::time::Duration;

/// How long to wait before something that failed at the API server or the kernel is tried again.
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// How often the node says that it lives: a quarter of the 40 s after which a controller manager
/// would give it up.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The wait before a container's second restart, doubled with each one after; the first is at once.
/// Kubelet's values under its feature gate `ReduceDefaultCrashLoopBackOffDecay` (KEP-4603).
pub(crate) const FIRST_BACK_OFF: Duration = Duration::from_secs(1);

/// The longest wait between restarts (KEP-4603).
pub(crate) const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);

/// A container that ran this long starts over at [`FIRST_BACK_OFF`] (kubelet's 10 minutes).
pub(crate) const STEADY: Duration = Duration::from_secs(600);

/// The grace of a pod that does not say, in seconds (`PodSpec.terminationGracePeriodSeconds`).
pub(crate) const GRACE_SECONDS: i64 = 30;

/// What is kept of a container's output; the oldest lines go first.
pub(crate) const LOG_BYTES: usize = 1 << 20;

/// A longer line of output is cut into several (containerd's limit).
pub(crate) const LINE_BYTES: usize = 16 << 10;

/// How long to wait for the rest of the output of a process that has ended: a child of its own may
/// still hold the pipe.
pub(crate) const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// How long the namespaces of a pod may take on a busy machine.
pub(crate) const SANDBOX: Duration = Duration::from_secs(20);
