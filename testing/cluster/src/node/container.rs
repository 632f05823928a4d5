//! One container's life: runs, restarts, back-off.

mod attending;
mod back_off;
mod output;
mod preparing;
mod restart;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use tokio::{sync::watch, time::sleep};

pub(crate) use restart::Restart;

use self::back_off::BackOff;
use super::{
    launch::Launch,
    logs::Owner,
    pod::{PodRun, stopping},
    sandbox::Sandbox,
    state::{Ended, Phase},
};

/// When a container is to end, and with which grace.
pub(crate) type Stop = watch::Receiver<Option<Duration>>;

/// Runs a container, again and again where its policy says so, until it is over or stopped.
pub(crate) async fn run(
    run: &PodRun,
    sandbox: &Sandbox,
    container: &Container,
    restart: Restart,
    stop: &Stop,
) {
    let name = &container.name;
    let mut back_off = BackOff::default();
    loop {
        let launch = tokio::select! {
            launch = preparing::prepared(run, sandbox, container) => launch,
            _ = stopping(stop) => return run.report(name, |report| report.over = true),
        };
        let ended = once(run, sandbox, container, &launch, stop).await;
        let again = stop.borrow().is_none() && restart.again(&ended);
        run.report(name, |report| {
            report.phase = Phase::Ended(ended.clone());
            (report.ready, report.started, report.over) = (false, false, !again);
        });
        if !again {
            return;
        }
        if !waited(run, name, &ended, back_off.next(&ended), stop).await {
            return run.report(name, |report| {
                report.phase = Phase::Ended(ended);
                report.over = true;
            });
        }
        run.report(name, |report| {
            report.last = Some(ended);
            report.restarts = report.restarts.saturating_add(1);
        });
    }
}

/// Waits before another run of a container; whether there is to be one.
async fn waited(run: &PodRun, name: &str, ended: &Ended, wait: Duration, stop: &Stop) -> bool {
    if !wait.is_zero() {
        run.report(name, |report| {
            report.last = Some(ended.clone());
            report.phase = Phase::Waiting {
                reason: "CrashLoopBackOff",
                message: format!("back-off {} s restarting failed container", wait.as_secs()),
            };
        });
    }
    tokio::select! {
        () = sleep(wait) => true,
        _ = stopping(stop) => false,
    }
}

/// One run of a container.
async fn once(
    run: &PodRun,
    sandbox: &Sandbox,
    container: &Container,
    launch: &Launch<'_>,
    stop: &Stop,
) -> Ended {
    let name = &container.name;
    let restarts = run.state.borrow().containers.get(name).map_or(0, |report| report.restarts);
    let id = format!("process://{}/{name}/{restarts}", run.uid);
    let owner = Owner { namespace: run.namespace.clone(), pod: run.name.clone(), container: name.clone() };
    let output = run.node.logs.open(&owner);
    let started = Timestamp::now();
    let end = match launch.start(sandbox, &run.folder.join("layers").join(name)).await {
        Err(error) => attending::End::refused(error.to_string()),
        Ok(mut process) => {
            run.report(name, |report| {
                report.phase = Phase::Running { since: started };
                report.id = Some(id.clone());
            });
            let copying = output::copy(&mut process, &output);
            let end = attending::attend(run, sandbox, container, launch, &mut process, stop).await;
            output::finish(copying).await;
            end
        }
    };
    output.send_modify(super::logs::Ring::end);
    end.at(started, Timestamp::now(), id)
}
