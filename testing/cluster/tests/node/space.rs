//! A namespace of a test, and what a test does and waits for in it.

use std::{process::Command, time::Duration};

use k8s_openapi::api::core::v1::{ContainerStatus, Namespace, Pod, ServiceAccount};
use kube::{
    Api, Client,
    api::PostParams,
    runtime::wait::{await_condition, conditions::is_deleted},
};
use portcullis_cluster_testing::Cluster;
use serde_json::{Value, json};
use tokio::time::timeout;

/// How long anything may take that is not measured.
const PATIENCE: Duration = Duration::from_secs(60);

/// The image whose entry point the pods override or use.
pub(crate) const IMAGE: &str = "gcr.io/k8s-staging-gateway-api/echo-basic:v0.1.0";

pub(crate) struct Space<'a> {
    cluster: &'a Cluster,
    pub(crate) name: &'static str,
    pub(crate) client: Client,
    pub(crate) pods: Api<Pod>,
}

impl<'a> Space<'a> {
    /// Makes the namespace, and waits until pods can be made in it.
    pub(crate) async fn new(cluster: &'a Cluster, name: &'static str) -> Self {
        let client = cluster.client().await.unwrap();
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
        let exists = |account: Option<&ServiceAccount>| account.is_some();
        timeout(PATIENCE, await_condition(accounts, "default", exists)).await.unwrap().unwrap();
        Self::of(cluster, name).await
    }

    /// A namespace that was made before.
    pub(crate) async fn of(cluster: &'a Cluster, name: &'static str) -> Self {
        let client = cluster.client().await.unwrap();
        let pods = Api::namespaced(client.clone(), name);
        Self { cluster, name, client, pods }
    }

    /// Makes a pod of the specification.
    pub(crate) async fn pod(&self, name: &str, spec: Value) {
        let pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        self.pods.create(&PostParams::default(), &pod).await.unwrap();
    }

    /// The pod, once it is as awaited.
    pub(crate) async fn when(&self, name: &str, what: &str, awaited: impl Fn(&Pod) -> bool) -> Pod {
        let condition =
            await_condition(self.pods.clone(), name, |pod: Option<&Pod>| pod.is_some_and(&awaited));
        match timeout(PATIENCE, condition).await {
            Ok(pod) => pod.unwrap().unwrap(),
            Err(_) => {
                let pod = self.pods.get(name).await.unwrap();
                panic!("{name} is not {what}: {}", serde_json::to_string_pretty(&pod.status).unwrap());
            }
        }
    }

    /// Waits until a pod is gone.
    pub(crate) async fn gone(&self, pod: &Pod) {
        let uid = pod.metadata.uid.clone().unwrap();
        let gone =
            await_condition(self.pods.clone(), pod.metadata.name.as_deref().unwrap(), is_deleted(&uid));
        timeout(PATIENCE, gone).await.expect("the pod is still there").unwrap();
    }

    /// What kubectl prints, when it succeeds.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command: Command = self.cluster.kubectl();
        let output = command.args(["--namespace", self.name]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}

/// The status and message of a pod's condition.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<(String, String)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((condition.status.clone(), condition.message.clone().unwrap_or_default()))
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(crate) fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let all =
        status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten());
    all.into_iter().find(|status| status.name == name)
}

/// A container that runs a shell script.
pub(crate) fn shell(name: &str, script: &str) -> Value {
    json!({"name": name, "image": IMAGE, "command": ["sh", "-c", script]})
}
