//! The Node object, and the signs of life that keep it ready.

use std::{fs, net::Ipv4Addr, thread};

use ipnet::Ipv4Net;
use jiff::Timestamp;
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Node},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::limits::HEARTBEAT;

/// The name under which fields are applied.
const MANAGER: &str = "portcullis-test-node";

/// Where nodes keep their leases.
const LEASES: &str = "kube-node-lease";

/// As many pods as addresses for them would be too many for one machine.
const MOST_PODS: &str = "500";

/// The release whose kubelet this node stands in for.
const KUBELET_VERSION: &str = "v1.37.2";

/// The node as the cluster shall see it.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) name: String,
    pub(crate) host: Ipv4Addr,
    pub(crate) pods: Ipv4Net,
    /// Where logs are served.
    pub(crate) port: u16,
}

impl Registration {
    /// Makes the Node, or takes over the one that is there.
    pub(crate) async fn register(&self, client: &Client) -> kube::Result<()> {
        let nodes: Api<Node> = Api::all(client.clone());
        let apply = PatchParams::apply(MANAGER).force();
        let pods = self.pods.to_string();
        let labels = json!({
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": architecture(),
        });
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"podCIDR": pods, "podCIDRs": [pods]},
        });
        nodes.patch(&self.name, &apply, &Patch::Apply(node)).await?;
        nodes.patch_status(&self.name, &apply, &Patch::Apply(self.status())).await?;
        // Admission taints a new node until it is ready, and expects a controller to lift that.
        let untainted = json!({"spec": {"taints": null}});
        nodes.patch(&self.name, &PatchParams::default(), &Patch::Merge(untainted)).await?;
        Ok(())
    }

    fn status(&self) -> serde_json::Value {
        let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default();
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": "",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            })
        };
        let processors = thread::available_parallelism().map_or(1, usize::from).to_string();
        let resources = json!({"cpu": processors, "memory": "8Gi", "pods": MOST_PODS});
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name},
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": self.host.to_string()},
                    {"type": "Hostname", "address": self.name},
                ],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
                "nodeInfo": info(),
                "capacity": resources,
                "allocatable": resources,
                "conditions": [
                    condition("Ready", "True", "KubeletReady"),
                    condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                    condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                    condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                ],
            },
        })
    }

    /// Renews the node's lease for as long as it is polled.
    pub(crate) async fn keep_alive(&self, client: &Client) {
        let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
        let apply = PatchParams::apply(MANAGER).force();
        let mut beats = interval(HEARTBEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.name},
                "spec": {
                    "holderIdentity": self.name,
                    "leaseDurationSeconds": HEARTBEAT.as_secs() * 4,
                    "renewTime": MicroTime(Timestamp::now()),
                },
            });
            if let Err(error) = leases.patch(&self.name, &apply, &Patch::Apply(lease)).await {
                tracing::warn!(%error, "the node's lease is not renewed");
            }
        }
    }
}

/// What `kubectl get nodes -o wide` shows of the machine.
fn info() -> serde_json::Value {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "kubeletVersion": KUBELET_VERSION, "kubeProxyVersion": "",
        "operatingSystem": "linux", "architecture": architecture(),
        "osImage": "processes of this machine", "containerRuntimeVersion": "process://1",
        "kernelVersion": kernel.trim(), "bootID": "", "machineID": "", "systemUUID": "",
    })
}

/// The machine's architecture in Go's words.
fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}
