//! What the node knows of a pod while it runs it.

use std::{collections::BTreeMap, net::Ipv4Addr};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod};

/// Everything that a pod's status is computed from, besides the pod itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// When the node took the pod on.
    pub(crate) start: Timestamp,
    /// None until the pod has its namespaces.
    pub(crate) address: Option<Ipv4Addr>,
    /// How far the volumes and namespaces are.
    pub(crate) preparation: Preparation,
    /// The containers and init containers by name.
    pub(crate) containers: BTreeMap<String, Report>,
}

/// What has to be there before the first container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// Something is not there, in words for a person.
    Waiting(String),
    /// All is there.
    Whole,
}

/// What the node knows of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) phase: Phase,
    /// How the run before ended.
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: i32,
    /// Its startup probe succeeded, or it has none.
    pub(crate) started: bool,
    pub(crate) ready: bool,
    /// Names the run.
    pub(crate) id: Option<String>,
    /// It will not be started again.
    pub(crate) over: bool,
}

/// Where a container is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting { reason: &'static str, message: String },
    Running { since: Timestamp },
    Ended(Ended),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The exit status; 128 and the signal's number where a signal ended it.
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) started: Timestamp,
    pub(crate) finished: Timestamp,
    pub(crate) id: String,
}

impl Ended {
    pub(crate) fn succeeded(&self) -> bool {
        self.code == 0
    }
}

impl State {
    /// The state of a pod that is taken on. Where it ran before, under a node that ended, its containers
    /// are restarts.
    pub(crate) fn new(pod: &Pod, now: Timestamp) -> Self {
        let status = pod.status.as_ref();
        let before = |name: &str| {
            let statuses = status.into_iter().flat_map(|status| {
                status
                    .container_statuses
                    .iter()
                    .flatten()
                    .chain(status.init_container_statuses.iter().flatten())
            });
            statuses.into_iter().find(|status| status.name == name)
        };
        let spec = pod.spec.clone().unwrap_or_default();
        let init = spec.init_containers.unwrap_or_default();
        let first = if init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
        let init = init.into_iter().map(|container| (container, "ContainerCreating"));
        let main = spec.containers.into_iter().map(|container| (container, first));
        let report = |(container, reason): (Container, _)| {
            let report = Report::new(reason, before(&container.name));
            (container.name, report)
        };
        let containers = init.chain(main).map(report).collect();
        let start = status.and_then(|status| status.start_time.as_ref()).map_or(now, |time| time.0);
        Self { start, address: None, preparation: Preparation::Waiting(String::new()), containers }
    }
}

impl Report {
    fn new(reason: &'static str, before: Option<&ContainerStatus>) -> Self {
        let ran = before.filter(|status| status.container_id.is_some());
        Self {
            phase: Phase::Waiting { reason, message: String::new() },
            last: None,
            restarts: ran.map_or(0, |status| status.restart_count.saturating_add(1)),
            started: false,
            ready: false,
            id: None,
            over: false,
        }
    }
}
