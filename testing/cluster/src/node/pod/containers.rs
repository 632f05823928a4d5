//! A pod's containers in their order: init containers one after the other, then the others together.
//! Init containers that stay (sidecars) are started in turn and ended last.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Container;
use tokio::sync::watch;

use super::{PodRun, stopping};
use crate::node::{
    container::{self, Restart},
    sandbox::Sandbox,
    status::{is_passed, is_sidecar},
};

/// Runs them until they are over or stopped.
pub(super) async fn run(run: &PodRun, sandbox: &Sandbox) {
    let init = run.spec.init_containers.as_deref().unwrap_or_default();
    let turn = watch::Sender::new(0);
    let end_of_sidecars = watch::Sender::new(None);
    let sidecars = init.iter().enumerate().filter(|(_, container)| is_sidecar(container));
    let sidecars = join_all(sidecars.map(|(at, container)| {
        let (turn, stop) = (turn.subscribe(), end_of_sidecars.subscribe());
        sidecar(run, sandbox, container, at, turn, stop)
    }));
    let others = async {
        if in_order(run, sandbox, init, &turn).await {
            let policy = Restart::of_pod(&run.spec);
            let main = run.spec.containers.iter();
            join_all(main.map(|container| container::run(run, sandbox, container, policy, &run.stop))).await;
        }
        let grace = run.stop.borrow().unwrap_or_else(|| run.grace());
        end_of_sidecars.send_replace(Some(grace));
    };
    futures::join!(others, sidecars);
}

/// Runs a sidecar from its turn on.
async fn sidecar(
    run: &PodRun,
    sandbox: &Sandbox,
    container: &Container,
    at: usize,
    mut turn: watch::Receiver<usize>,
    stop: watch::Receiver<Option<Duration>>,
) {
    let started = tokio::select! {
        turn = turn.wait_for(|turn| *turn >= at) => turn.is_ok(),
        _ = stopping(&stop) => false,
    };
    if started {
        container::run(run, sandbox, container, Restart::Always, &stop).await;
    }
}

/// Runs the init containers; false when one failed for good or the pod is to end.
async fn in_order(run: &PodRun, sandbox: &Sandbox, init: &[Container], turn: &watch::Sender<usize>) -> bool {
    for (at, container) in init.iter().enumerate() {
        turn.send_replace(at);
        if !is_sidecar(container) {
            container::run(run, sandbox, container, Restart::of_init(&run.spec), &run.stop).await;
        }
        let mut state = run.state.subscribe();
        let passed = state.wait_for(|state| {
            state
                .containers
                .get(&container.name)
                .is_some_and(|report| is_passed(container, report) || report.over)
        });
        tokio::select! {
            _ = passed => {}
            _ = stopping(&run.stop) => return false,
        }
        let state = run.state.borrow();
        if !state.containers.get(&container.name).is_some_and(|report| is_passed(container, report)) {
            return false;
        }
    }
    turn.send_replace(init.len());
    run.stop.borrow().is_none()
}
