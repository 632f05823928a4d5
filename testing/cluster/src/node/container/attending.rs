//! Attending a container's process: probes, the order to stop, its end.

use std::{io, os::unix::process::ExitStatusExt, pin::pin, process::ExitStatus, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Probe};
use rustix::process::Signal;
use tokio::{sync::mpsc, time::sleep};

use super::Stop;
use crate::node::{
    launch::{Launch, Process},
    pod::{PodRun, stopping},
    probes::{self, Finding, Target},
    sandbox::Sandbox,
    state::Ended,
};

/// The exit status of a container that could not be started (as container runtimes have it).
const NOT_STARTED: i32 = 128;

/// How a run ended, and why if the node ended it.
pub(crate) struct End {
    code: i32,
    signal: Option<i32>,
    reason: &'static str,
    message: String,
}

impl End {
    /// There was no process.
    pub(crate) fn refused(message: String) -> Self {
        Self { code: NOT_STARTED, signal: None, reason: "StartError", message }
    }

    fn of(status: io::Result<ExitStatus>, message: String) -> Self {
        match status {
            Ok(status) => {
                let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(NOT_STARTED);
                let reason = if code == 0 { "Completed" } else { "Error" };
                Self { code, signal: status.signal(), reason, message }
            }
            Err(error) => {
                Self { code: NOT_STARTED, signal: None, reason: "Error", message: error.to_string() }
            }
        }
    }

    /// The run as a whole.
    pub(crate) fn at(self, started: Timestamp, finished: Timestamp, id: String) -> Ended {
        let Self { code, signal, reason, message } = self;
        Ended { code, signal, reason, message, started, finished, id }
    }
}

/// Probes a process until it ends, by itself or because it is unhealthy or to stop.
pub(crate) async fn attend(
    run: &PodRun,
    sandbox: &Sandbox,
    container: &Container,
    launch: &Launch<'_>,
    process: &mut Process,
    stop: &Stop,
) -> End {
    let target = Target {
        address: sandbox.address(),
        ports: container.ports.clone().unwrap_or_default(),
        process: process.pid,
        environment: launch.variables().collect(),
    };
    let (sender, mut findings) = mpsc::unbounded_channel();
    let probing = async {
        probes::probe(container, &target, &sender).await;
        std::future::pending::<()>().await;
    };
    tokio::pin!(probing);
    let (grace, message) = loop {
        tokio::select! {
            status = process.child.wait() => return End::of(status, String::new()),
            grace = stopping(stop) => break (grace, String::new()),
            () = &mut probing => {}
            Some(finding) = findings.recv() => match finding {
                Finding::Started => run.report(&container.name, |report| report.started = true),
                Finding::Ready(ready) => run.report(&container.name, |report| report.ready = ready),
                Finding::Unhealthy(message) => {
                    tracing::info!(pod = %run.name, container = %container.name, message, "container is unhealthy");
                    break (grace(container).unwrap_or_else(|| run.grace()), message);
                }
            },
        }
    };
    let status = end(process, grace, stop, pre_stop(container, &target)).await;
    End::of(status, message)
}

/// A probe may say how long a container has that it found unhealthy.
fn grace(container: &Container) -> Option<Duration> {
    let probe: Option<&Probe> = container.liveness_probe.as_ref().or(container.startup_probe.as_ref());
    let seconds = probe?.termination_grace_period_seconds?;
    Some(Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// Runs the container's hook, asks its process to end, and ends it when its grace is over or the pod's is.
///
/// Source: `Lifecycle.preStop` field documentation: the hook's time counts.
async fn end(
    process: &mut Process,
    grace: Duration,
    stop: &Stop,
    hook: impl Future<Output = ()>,
) -> io::Result<ExitStatus> {
    let mut expired = pin!(expired(grace, stop.clone()));
    let is_expired = tokio::select! {
        status = process.child.wait() => return status,
        () = hook => false,
        () = &mut expired => true,
    };
    process.signal(Signal::TERM);
    if !is_expired {
        tokio::select! {
            status = process.child.wait() => return status,
            () = &mut expired => {}
        }
    }
    process.signal(Signal::KILL);
    process.child.wait().await
}

/// Waits for the end of a grace, or of a shorter one that the pod is given in the meantime.
async fn expired(grace: Duration, mut stop: Stop) {
    let shorter = async {
        let shorter = stop.wait_for(|stop| stop.is_some_and(|shorter| shorter < grace)).await;
        sleep(shorter.map_or(Some(grace), |shorter| *shorter).unwrap_or(grace)).await;
    };
    tokio::select! {
        () = sleep(grace) => {}
        () = shorter => {}
    }
}

/// What a container asked to be done before it ends.
async fn pre_stop(container: &Container, target: &Target) {
    let lifecycle = container.lifecycle.as_ref();
    let Some(hook) = lifecycle.and_then(|lifecycle| lifecycle.pre_stop.as_ref()) else { return };
    if let Some(pause) = &hook.sleep {
        return sleep(Duration::from_secs(u64::try_from(pause.seconds).unwrap_or_default())).await;
    }
    let asked = Probe { exec: hook.exec.clone(), http_get: hook.http_get.clone(), ..Probe::default() };
    if let Err(message) = target.ask(&asked).await {
        tracing::info!(container = %container.name, message, "the hook before a container's end failed");
    }
}
