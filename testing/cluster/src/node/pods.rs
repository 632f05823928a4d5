//! The pods of the cluster: those of no node are bound to this one, and this one's are run.

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::Arc,
};

use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::{Binding, ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::Status,
};
use kube::{
    Api,
    api::PostParams,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::{Node, limits::RETRY, pod};

/// Watches pods and runs this node's for as long as it is polled; dropped, it ends them all.
pub(crate) async fn run(node: Arc<Node>) {
    let pods: Api<Pod> = Api::all(node.client.clone());
    let mut events = pin!(watcher::watcher(pods, watcher::Config::default()).default_backoff());
    let mut pods = Pods { node, workers: HashMap::new(), tasks: JoinSet::new(), listed: HashSet::new() };
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => pods.take(event),
                Some(Err(error)) => tracing::warn!(%error, "the watch of pods is tried again"),
                None => return,
            },
            Some(ended) = pods.tasks.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "a pod's task broke");
            },
        }
    }
}

/// The pods that run here.
struct Pods {
    node: Arc<Node>,
    /// What each pod's task sees of it, by uid; dropping it says that the pod is gone.
    workers: HashMap<String, watch::Sender<Arc<Pod>>>,
    tasks: JoinSet<()>,
    /// The uids in a list that is being read.
    listed: HashSet<String>,
}

impl Pods {
    fn take(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => {
                self.listed.extend(pod.metadata.uid.clone());
                self.apply(pod);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.workers.retain(|uid, _| listed.contains(uid));
            }
            Event::Apply(pod) => self.apply(pod),
            Event::Delete(pod) => {
                self.workers.remove(pod.metadata.uid.as_deref().unwrap_or_default());
            }
        }
    }

    fn apply(&mut self, pod: Pod) {
        let assigned = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        if assigned == Some(&self.node.name) {
            self.run(pod);
        } else if assigned.is_none() && may_bind(&pod) {
            self.tasks.spawn(bind(Arc::clone(&self.node), pod));
        }
    }

    fn run(&mut self, pod: Pod) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let pod = Arc::new(pod);
        if let Some(worker) = self.workers.get(&uid) {
            worker.send_replace(pod);
            return;
        }
        let (worker, seen) = watch::channel(pod);
        self.workers.insert(uid, worker);
        self.tasks.spawn(pod::run(Arc::clone(&self.node), seen));
    }
}

/// Whether a pod waits for a node and for nothing else (`PodSpec.schedulingGates`).
fn may_bind(pod: &Pod) -> bool {
    let gated = pod.spec.as_ref().is_some_and(|spec| spec.scheduling_gates.iter().flatten().next().is_some());
    pod.metadata.deletion_timestamp.is_none() && !gated
}

/// Binds a pod to this node.
async fn bind(node: Arc<Node>, pod: Pod) {
    let (Some(namespace), Some(name)) = (&pod.metadata.namespace, &pod.metadata.name) else { return };
    let pods: Api<Pod> = Api::namespaced(node.client.clone(), namespace);
    let mut binding = Binding::default();
    binding.metadata.name = Some(name.clone());
    binding.metadata.uid.clone_from(&pod.metadata.uid);
    binding.target = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.clone()),
        ..ObjectReference::default()
    };
    loop {
        let bound: kube::Result<Status> =
            pods.create_subresource("binding", name, &PostParams::default(), &binding).await;
        match bound {
            Ok(_) => return,
            // It has a node by now, or is gone, or must not have one.
            Err(kube::Error::Api(refusal)) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                return tracing::debug!(namespace, name, %refusal, "pod is not bound");
            }
            Err(error) => tracing::warn!(namespace, name, %error, "pod is not bound and will be tried again"),
        }
        sleep(RETRY).await;
    }
}
