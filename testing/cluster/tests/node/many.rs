//! Many pods at once.

use std::time::{Duration, Instant};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
    runtime::wait::await_condition,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::space::{IMAGE, Space};

/// What the conformance suite starts with has to be there soon; and a namespace has 30 s to vanish.
const IN_TIME: Duration = Duration::from_secs(10);

pub(crate) async fn forty_pods_are_ready_and_gone_in_time(space: &Space<'_>) {
    let deployments: Api<Deployment> = Api::namespaced(space.client.clone(), space.name);
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let deployment = serde_json::from_value(json!({
        "metadata": {"name": "echo"},
        "spec": {
            "replicas": 40,
            "selector": {"matchLabels": {"app": "echo"}},
            "template": {
                "metadata": {"labels": {"app": "echo"}},
                "spec": {"containers": [{
                    "name": "echo", "image": IMAGE,
                    "env": [field("POD_NAME", "metadata.name"), field("NAMESPACE", "metadata.namespace")],
                }]},
            },
        },
    }))
    .unwrap();
    let begin = Instant::now();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let ready = |deployment: Option<&Deployment>| {
        deployment.and_then(|deployment| deployment.status.as_ref()?.ready_replicas) == Some(40)
    };
    timeout(IN_TIME, await_condition(deployments.clone(), "echo", ready))
        .await
        .expect("40 pods are not ready")
        .unwrap();
    println!("40 pods were ready after {:?}", begin.elapsed());

    let pods = space.pods.list(&ListParams::default().labels("app=echo")).await.unwrap().items;
    every_pod_answers_under_its_own_address(&pods).await;
    let name = pods[0].metadata.name.clone().unwrap();
    let logs = space.kubectl(&["logs", &name, "--container=echo", "--tail=1"]);
    assert!(logs.starts_with("Echoing back request made to /hello to client"), "{logs}");

    let begin = Instant::now();
    deployments.delete("echo", &DeleteParams::foreground()).await.unwrap();
    let gone = await_condition(deployments, "echo", |deployment: Option<&Deployment>| deployment.is_none());
    timeout(IN_TIME, gone).await.expect("the pods are still there").unwrap();
    println!("40 pods were gone after {:?}", begin.elapsed());
}

async fn every_pod_answers_under_its_own_address(pods: &[Pod]) {
    for pod in pods {
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone()).unwrap();
        let mut stream = TcpStream::connect(format!("{address}:3000")).await.unwrap();
        stream.write_all(b"GET /hello HTTP/1.1\r\nHost: echo\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let name = pod.metadata.name.as_deref().unwrap();
        assert!(answer.contains(&format!("\"pod\": \"{name}\"")), "{answer}");
    }
}
