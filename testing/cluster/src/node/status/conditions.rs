//! A pod's conditions.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodCondition, PodSpec};

use super::{is_passed, is_sidecar, whole_seconds};
use crate::node::state::{Preparation, Report, State};

/// What a condition says: true, or why not.
type Verdict = Result<(), (&'static str, String)>;

/// The conditions that a kubelet writes; each keeps the time of its last change.
pub(super) fn conditions(
    pod: &Pod,
    spec: &PodSpec,
    before: &[PodCondition],
    state: &State,
    now: Timestamp,
) -> Vec<PodCondition> {
    let containers_ready = containers_ready(spec, state);
    let verdicts = [
        ("PodReadyToStartContainers", prepared(state)),
        ("Initialized", initialized(spec, state)),
        ("Ready", containers_ready.clone().and_then(|()| gates_open(pod, spec))),
        ("ContainersReady", containers_ready),
        ("PodScheduled", Ok(())),
    ];
    let condition = |(kind, verdict): (&str, Verdict)| {
        let status = if verdict.is_ok() { "True" } else { "False" };
        let (reason, message) = verdict.err().unzip();
        let before = find(before, kind).filter(|before| before.status == status);
        let changed = before.and_then(|before| before.last_transition_time.clone());
        PodCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
            message: message.filter(|message| !message.is_empty()),
            last_transition_time: Some(changed.unwrap_or_else(|| whole_seconds(now))),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        }
    };
    verdicts.into_iter().map(condition).collect()
}

fn find<'a>(conditions: &'a [PodCondition], kind: &str) -> Option<&'a PodCondition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn prepared(state: &State) -> Verdict {
    match &state.preparation {
        Preparation::Waiting(message) => Err(("ContainerCreating", message.clone())),
        Preparation::Whole if state.address.is_none() => Err(("ContainerCreating", String::new())),
        Preparation::Whole => Ok(()),
    }
}

fn initialized(spec: &PodSpec, state: &State) -> Verdict {
    let incomplete = |(container, report): (&Container, &Report)| !is_passed(container, report);
    let names = names(spec.init_containers.as_deref().unwrap_or_default(), state, incomplete);
    if names.is_empty() && (state.preparation == Preparation::Whole || spec.init_containers.is_none()) {
        return Ok(());
    }
    Err(("ContainersNotInitialized", format!("containers with incomplete status: [{}]", names.join(" "))))
}

fn containers_ready(spec: &PodSpec, state: &State) -> Verdict {
    let unready = |(_, report): (&Container, &Report)| !report.ready;
    let sidecar = |(container, report): (&Container, &Report)| is_sidecar(container) && !report.ready;
    let mut unready_names = names(spec.init_containers.as_deref().unwrap_or_default(), state, sidecar);
    unready_names.extend(names(&spec.containers, state, unready));
    if unready_names.is_empty() {
        return Ok(());
    }
    Err(("ContainersNotReady", format!("containers with unready status: [{}]", unready_names.join(" "))))
}

/// Source: `PodSpec.readinessGates` field documentation.
fn gates_open(pod: &Pod, spec: &PodSpec) -> Verdict {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    for gate in spec.readiness_gates.iter().flatten() {
        if find(conditions, &gate.condition_type).is_none_or(|condition| condition.status != "True") {
            let message =
                format!("the status of pod readiness gate {:?} is not \"True\"", gate.condition_type);
            return Err(("ReadinessGatesNotReady", message));
        }
    }
    Ok(())
}

fn names<'a>(
    containers: &'a [Container],
    state: &'a State,
    chosen: impl Fn((&'a Container, &'a Report)) -> bool,
) -> Vec<&'a str> {
    let known =
        containers.iter().filter_map(|container| Some((container, state.containers.get(&container.name)?)));
    known.filter(|pair| chosen(*pair)).map(|(container, _)| container.name.as_str()).collect()
}
