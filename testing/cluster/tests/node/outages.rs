//! What ends and comes back: the API server, and the node itself.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use portcullis_cluster_testing::{Cluster, network::BRIDGE};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::space::{IMAGE, Space, container, is_ready};

pub(crate) async fn pods_run_on_while_the_api_server_is_away(cluster: &mut Cluster) {
    let echo = json!({"containers": [{"name": "echo", "image": IMAGE}]});
    {
        let space = Space::new(cluster, "outage").await;
        space.pod("before", echo.clone()).await;
        space.when("before", "ready", is_ready).await;
    }
    cluster.kill_apiserver();
    cluster.restart_apiserver().await.unwrap();
    let space = Space::of(cluster, "outage").await;
    space.pod("after", echo).await;
    space.when("after", "ready", is_ready).await;
    let before = space.pods.get("before").await.unwrap();
    assert_eq!(container(&before, "echo").unwrap().restart_count, 0);
    assert!(is_ready(&before));
}

pub(crate) async fn nothing_of_a_pod_outlives_a_node_that_crashes(cluster: &mut Cluster) {
    {
        let space = Space::new(cluster, "crash").await;
        space.pod("echo", json!({"containers": [{"name": "echo", "image": IMAGE}]})).await;
        space.when("echo", "ready", is_ready).await;
    }
    assert_ne!(links(cluster), "");
    cluster.kill("node");
    // A pod's link to the bridge goes with its network namespace, and that with its last process.
    let gone = async {
        while !links(cluster).is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(30), gone).await.expect("namespaces of pods are still there");

    let mut node = cluster.command(env!("CARGO_BIN_EXE_portcullis-test-node"));
    node.arg("--kubeconfig").arg(cluster.kubeconfig()).args(["--name", "node", "--bridge", BRIDGE]);
    node.args(["--pod-cidr", &cluster.network().pods().to_string()]);
    node.arg("--state").arg(cluster.folder().join("node"));
    node.arg("--images").arg(cluster.folder().join("images.yaml"));
    cluster.run("node", &mut node).unwrap();
    let space = Space::of(cluster, "crash").await;
    let again =
        |pod: &Pod| is_ready(pod) && container(pod, "echo").is_some_and(|status| status.restart_count == 1);
    space.when("echo", "run again", again).await;
}

/// What is joined to the bridge of the pods.
fn links(cluster: &Cluster) -> String {
    let shown = cluster.command("ip").args(["-brief", "link", "show", "master", BRIDGE]).output().unwrap();
    assert!(shown.status.success());
    String::from_utf8(shown.stdout).unwrap()
}
