//! The status of one container.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus,
};

use super::whole_seconds;
use crate::node::state::{Ended, Phase, Report};

pub(super) fn status(container: &Container, report: &Report) -> ContainerStatus {
    let image = container.image.clone().unwrap_or_default();
    ContainerStatus {
        name: container.name.clone(),
        image_id: image.clone(),
        image,
        container_id: report.id.clone(),
        ready: report.ready,
        restart_count: report.restarts,
        started: Some(report.started),
        state: Some(state(&report.phase)),
        last_state: report.last.as_ref().map(terminated),
        ..ContainerStatus::default()
    }
}

fn state(phase: &Phase) -> ContainerState {
    match phase {
        Phase::Waiting { reason, message } => ContainerState {
            waiting: Some(ContainerStateWaiting {
                reason: Some((*reason).to_owned()),
                message: Some(message.clone()).filter(|message| !message.is_empty()),
            }),
            ..ContainerState::default()
        },
        Phase::Running { since } => ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(whole_seconds(*since)) }),
            ..ContainerState::default()
        },
        Phase::Ended(ended) => terminated(ended),
    }
}

fn terminated(ended: &Ended) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            container_id: Some(ended.id.clone()),
            exit_code: ended.code,
            signal: ended.signal,
            reason: Some(ended.reason.to_owned()),
            message: Some(ended.message.clone()).filter(|message| !message.is_empty()),
            started_at: Some(whole_seconds(ended.started)),
            finished_at: Some(whole_seconds(ended.finished)),
        }),
        ..ContainerState::default()
    }
}
