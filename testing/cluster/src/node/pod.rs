//! One pod's life on the node.

mod containers;
mod deletion;

use std::{fs, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};
use tokio::sync::watch;

pub(crate) use super::state::Preparation;
use super::{
    Node,
    limits::{GRACE_SECONDS, RETRY},
    sandbox::Sandbox,
    sources::{self, Inputs},
    state::{Report, State},
    status, volumes,
};

/// A pod that the node runs.
pub(crate) struct PodRun {
    pub(crate) node: Arc<Node>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) spec: PodSpec,
    /// The pod as the API server last showed it; its end means that the pod is gone.
    pub(crate) pod: watch::Receiver<Arc<Pod>>,
    /// What it takes from the API.
    pub(crate) inputs: watch::Receiver<Inputs>,
    /// What its status is computed from.
    pub(crate) state: watch::Sender<State>,
    /// The status that was written last.
    pub(crate) written: watch::Sender<Option<PodStatus>>,
    /// The grace, once the pod is to end.
    pub(crate) stop: watch::Receiver<Option<Duration>>,
    /// Its volumes and layers.
    pub(crate) folder: PathBuf,
}

impl PodRun {
    /// Tells how far the volumes and namespaces are.
    pub(crate) fn say(&self, preparation: Preparation) {
        self.state.send_if_modified(|state| {
            let news = state.preparation != preparation;
            state.preparation = preparation;
            news
        });
    }

    /// Changes what is known of a container.
    pub(crate) fn report(&self, container: &str, change: impl FnOnce(&mut Report)) {
        self.state.send_modify(|state| {
            if let Some(report) = state.containers.get_mut(container) {
                change(report);
            }
        });
    }

    /// The grace of a container that is ended for another reason than the pod's deletion.
    pub(crate) fn grace(&self) -> Duration {
        let seconds = self.spec.termination_grace_period_seconds.unwrap_or(GRACE_SECONDS);
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    }
}

/// Waits until something is to end, and gives its grace. Without a sender nothing is to wait for.
pub(crate) async fn stopping(stop: &watch::Receiver<Option<Duration>>) -> Duration {
    stop.clone().wait_for(Option::is_some).await.map_or(None, |grace| *grace).unwrap_or_default()
}

/// Why a pod's life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It was asked to go, and waits to be removed.
    Asked,
    /// It is gone from the API server.
    Gone,
}

/// Runs a pod from the time it is bound until it is gone.
pub(crate) async fn run(node: Arc<Node>, pod: watch::Receiver<Arc<Pod>>) {
    let first = pod.borrow().clone();
    let (inputs_sender, inputs) = watch::channel(Inputs::default());
    let (stop_sender, stop) = watch::channel(None);
    let uid = first.metadata.uid.clone().unwrap_or_default();
    let run = PodRun {
        namespace: first.metadata.namespace.clone().unwrap_or_default(),
        name: first.metadata.name.clone().unwrap_or_default(),
        spec: first.spec.clone().unwrap_or_default(),
        folder: node.pods_folder().join(&uid),
        state: watch::Sender::new(State::new(&first, Timestamp::now())),
        written: watch::Sender::new(None),
        uid,
        node,
        pod,
        inputs,
        stop,
    };
    if is_over(&first) {
        // It ran to its end under a node before this one; it only waits to be removed.
        deletion::until_asked(run.pod.clone(), &stop_sender, std::future::ready(())).await;
        return deletion::remove(&run).await;
    }
    if lived(&run, &first, &inputs_sender, &stop_sender).await == End::Asked {
        deletion::remove(&run).await;
    }
    run.node.logs.forget(&run.namespace, &run.name);
    if let Err(error) = fs::remove_dir_all(&run.folder) {
        tracing::debug!(pod = %run.name, %error, "nothing of the pod is left to remove");
    }
    tracing::info!(namespace = %run.namespace, pod = %run.name, "pod ended");
}

/// Runs a pod's containers, and all that goes on beside them, to their end.
async fn lived(
    run: &PodRun,
    first: &Pod,
    inputs: &watch::Sender<Inputs>,
    stop: &watch::Sender<Option<Duration>>,
) -> End {
    let client = &run.node.client;
    let background = async {
        futures::join!(
            sources::watch(client.clone(), &run.namespace, sources::named(&run.spec), inputs.clone()),
            sources::request_tokens(client.clone(), first, sources::claims(&run.spec), inputs.clone()),
            volumes::keep(run),
            status::keep(run),
        )
    };
    let life = deletion::until_asked(run.pod.clone(), stop, live(run));
    let (life, background) = (pin!(life), pin!(background));
    match futures::future::select(life, background).await {
        futures::future::Either::Left((end, _)) => end,
        futures::future::Either::Right(_) => End::Gone,
    }
}

fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Runs a pod's containers until they are over or stopped.
async fn live(run: &PodRun) {
    let Some(sandbox) = sandbox(run).await else { return };
    run.state.send_modify(|state| state.address = Some(sandbox.address()));
    let mut state = run.state.subscribe();
    let prepared = async { state.wait_for(|state| state.preparation == Preparation::Whole).await.is_ok() };
    let prepared = tokio::select! {
        prepared = prepared => prepared,
        _ = stopping(&run.stop) => false,
    };
    if prepared {
        containers::run(run, &sandbox).await;
    }
    sandbox.end().await;
}

/// None when the pod is to end before it has its namespaces.
async fn sandbox(run: &PodRun) -> Option<Sandbox> {
    let host_network = run.spec.host_network.unwrap_or_default();
    loop {
        let started = tokio::select! {
            started = Sandbox::start(&run.name, &run.node.network, host_network) => started,
            _ = stopping(&run.stop) => return None,
        };
        match started {
            Ok(sandbox) => return Some(sandbox),
            Err(error) => {
                tracing::warn!(pod = %run.name, %error, "a pod's namespaces will be tried again");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
