//! A pod's status, computed from what the node knows of it.

mod conditions;
mod containers;
mod writing;

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Container, HostIP, Pod, PodCondition, PodIP, PodSpec, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::state::{Phase, Report, State};

pub(crate) use writing::{keep, write};

/// The status of a pod at a time; a condition that is as before keeps its time.
fn status(pod: &Pod, before: &[PodCondition], state: &State, host: Ipv4Addr, now: Timestamp) -> PodStatus {
    let spec = pod.spec.clone().unwrap_or_default();
    let statuses = |containers: &[Container]| {
        let each = containers.iter().filter_map(|container| {
            state.containers.get(&container.name).map(|report| containers::status(container, report))
        });
        Some(each.collect::<Vec<_>>()).filter(|statuses| !statuses.is_empty())
    };
    PodStatus {
        phase: Some(phase(&spec, state).to_owned()),
        conditions: Some(conditions::conditions(pod, &spec, before, state, now)),
        container_statuses: statuses(&spec.containers),
        init_container_statuses: statuses(spec.init_containers.as_deref().unwrap_or_default()),
        host_ip: Some(host.to_string()),
        host_ips: Some(vec![HostIP { ip: host.to_string() }]),
        pod_ip: state.address.map(|address| address.to_string()),
        pod_ips: state.address.map(|address| vec![PodIP { ip: address.to_string() }]),
        start_time: Some(whole_seconds(state.start)),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

/// The API's times have no fractions.
fn whole_seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

/// Source: `PodStatus.phase` field documentation.
fn phase(spec: &PodSpec, state: &State) -> &'static str {
    let reports = |containers: &[Container]| -> Vec<&Report> {
        containers.iter().filter_map(|container| state.containers.get(&container.name)).collect()
    };
    let main = reports(&spec.containers);
    let init = reports(spec.init_containers.as_deref().unwrap_or_default());
    if init.iter().any(|report| failed(report)) {
        return "Failed";
    }
    if !main.is_empty() && main.iter().all(|report| report.over) {
        return if main.iter().any(|report| failed(report)) { "Failed" } else { "Succeeded" };
    }
    let ran = |report: &&Report| !matches!(report.phase, Phase::Waiting { .. }) || report.last.is_some();
    if main.iter().any(ran) { "Running" } else { "Pending" }
}

/// Whether a container has ended for good and badly.
fn failed(report: &Report) -> bool {
    report.over && matches!(&report.phase, Phase::Ended(ended) if !ended.succeeded())
}

/// Whether a container of the init containers stays (`Container.restartPolicy` Always: a sidecar).
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Whether an init container lets the next one start.
pub(crate) fn is_passed(container: &Container, report: &Report) -> bool {
    if is_sidecar(container) {
        report.started
    } else {
        matches!(&report.phase, Phase::Ended(ended) if ended.succeeded())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::node::state::{Ended, Preparation};

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "generation": 3},
            "spec": {
                "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}],
                "initContainers": [{"name": "first", "image": "i"}],
            },
        }))
        .unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ended(code: i32) -> Phase {
        Phase::Ended(Ended {
            code,
            signal: None,
            reason: if code == 0 { "Completed" } else { "Error" },
            message: String::new(),
            started: at(10),
            finished: at(20),
            id: "process://u/a/0".to_owned(),
        })
    }

    fn state(change: impl FnOnce(&mut State)) -> State {
        let mut state = State::new(&pod(), at(1));
        change(&mut state);
        state
    }

    fn set(state: &mut State, name: &str, change: impl FnOnce(&mut Report)) {
        change(state.containers.get_mut(name).unwrap());
    }

    fn running(state: &mut State, ready: bool) {
        state.preparation = Preparation::Whole;
        state.address = Some(Ipv4Addr::new(10, 244, 0, 7));
        set(state, "first", |report| (report.phase, report.over) = (ended(0), true));
        for name in ["a", "b"] {
            set(state, name, |report| {
                report.phase = Phase::Running { since: at(30) };
                (report.started, report.ready) = (true, ready);
            });
        }
    }

    fn compute(state: &State) -> Value {
        let status = status(&pod(), &[], state, Ipv4Addr::new(10, 244, 0, 1), at(100));
        serde_json::to_value(status).unwrap()
    }

    fn conditions(status: &Value) -> Vec<(String, String)> {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        conditions.map(|condition| (text(&condition["type"]), text(&condition["status"]))).collect()
    }

    #[test]
    fn a_new_pod_is_pending_and_says_what_it_waits_for() {
        let waiting = Preparation::Waiting("volume \"v\": secret \"s\" not found".to_owned());
        let status = compute(&state(|state| state.preparation = waiting));
        assert_eq!(status["phase"], "Pending");
        assert_eq!(status["hostIP"], "10.244.0.1");
        assert_eq!(status["startTime"], "1970-01-01T00:00:01Z");
        assert_eq!(status["observedGeneration"], 3);
        assert_eq!(status.get("podIP"), None);
        let expected = [
            ("PodReadyToStartContainers", "False"),
            ("Initialized", "False"),
            ("Ready", "False"),
            ("ContainersReady", "False"),
            ("PodScheduled", "True"),
        ];
        let expected = expected.map(|(kind, status)| (kind.to_owned(), status.to_owned()));
        assert_eq!(conditions(&status), expected);
        let first = &status["conditions"][0];
        assert_eq!(first["message"], "volume \"v\": secret \"s\" not found");
        assert_eq!(status["containerStatuses"][0]["state"]["waiting"]["reason"], "PodInitializing");
        assert_eq!(status["initContainerStatuses"][0]["state"]["waiting"]["reason"], "ContainerCreating");
    }

    #[test]
    fn a_pod_with_every_container_ready_is_ready() {
        let status = compute(&state(|state| running(state, true)));
        assert_eq!(status["phase"], "Running");
        assert_eq!(status["podIP"], "10.244.0.7");
        assert_eq!(status["podIPs"], json!([{"ip": "10.244.0.7"}]));
        assert!(conditions(&status).iter().all(|(_, status)| status == "True"));
        let container = &status["containerStatuses"][0];
        assert_eq!(container["ready"], true);
        assert_eq!(container["state"]["running"]["startedAt"], "1970-01-01T00:00:30Z");
    }

    #[test]
    fn an_unready_container_is_named() {
        let status = compute(&state(|state| {
            running(state, true);
            set(state, "b", |report| report.ready = false);
        }));
        let ready = &status["conditions"][2];
        assert_eq!(ready["status"], "False");
        assert_eq!(ready["reason"], "ContainersNotReady");
        assert_eq!(ready["message"], "containers with unready status: [b]");
    }

    #[test]
    fn the_phase_follows_from_how_containers_ended() {
        let over = |a, b| {
            compute(&state(|state| {
                running(state, false);
                set(state, "a", |report| (report.phase, report.over) = (ended(a), true));
                set(state, "b", |report| (report.phase, report.over) = (ended(b), true));
            }))["phase"]
                .clone()
        };
        assert_eq!(over(0, 0), "Succeeded");
        assert_eq!(over(0, 1), "Failed");
        let crashed = compute(&state(|state| {
            running(state, false);
            set(state, "a", |report| report.phase = ended(1));
        }));
        assert_eq!(crashed["phase"], "Running", "it will be started again");
        assert_eq!(crashed["containerStatuses"][0]["state"]["terminated"]["exitCode"], 1);
        let init = compute(&state(|state| {
            set(state, "first", |report| (report.phase, report.over) = (ended(2), true));
        }));
        assert_eq!(init["phase"], "Failed");
    }

    #[test]
    fn a_transition_keeps_its_time_until_the_next() {
        let ready = state(|state| running(state, true));
        let before = status(&pod(), &[], &ready, Ipv4Addr::LOCALHOST, at(100)).conditions.unwrap();
        let mut later = state(|state| running(state, true));
        set(&mut later, "a", |report| report.ready = false);
        let after = status(&pod(), &before, &later, Ipv4Addr::LOCALHOST, at(200));
        let after = serde_json::to_value(after).unwrap();
        let time = |index: usize| after["conditions"][index]["lastTransitionTime"].clone();
        assert_eq!(time(0), "1970-01-01T00:01:40Z");
        assert_eq!(time(2), "1970-01-01T00:03:20Z");
    }

    #[test]
    fn what_ran_under_a_node_before_is_a_restart() {
        let mut pod = pod();
        let before = json!({"containerStatuses": [
            {"name": "a", "image": "i", "imageID": "", "ready": true, "restartCount": 2, "containerID": "process://x"},
            {"name": "b", "image": "i", "imageID": "", "ready": false, "restartCount": 0},
        ]});
        pod.status = Some(serde_json::from_value(before).unwrap());
        let state = State::new(&pod, at(1));
        let restarts = |name: &str| state.containers[name].restarts;
        assert_eq!((restarts("a"), restarts("b"), restarts("first")), (3, 0, 0));
    }
}
