//! The quick start, as a new user applies it.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    client::get,
    stage::{Stage, eventually},
};

/// The pods that the Services select, each answering with its own name.
const PODS: [(&str, &str, u16); 4] = [
    ("shop", "storefront", 80),
    ("shop", "storefront-next", 80),
    ("shop", "api", 8080),
    ("blog", "blog", 80),
];

/// The same manifests mean the same in a cluster as from files, and are served under the Gateway's address.
#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_is_served_and_its_statuses_are_those_of_the_files() {
    let Some(stage) = Stage::start("quickstart").await else { return };
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let applied = stage.cluster.kubectl().args(["apply", "--filename"]).arg(&files).output().unwrap();
    // At the first try: kubectl applies in the order of the files' names, so each namespace is before what is in it.
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let pods: Vec<String> = PODS.into_iter().map(pod).collect();
    stage.cluster.apply(&pods.join("---\n")).unwrap();
    let address = stage.address("edge", "web").await;

    for (host, path, answering) in [
        ("blog.localhost", "/", "\"pod\": \"blog\""),
        ("shop.localhost", "/api/items", "\"path\": \"/items\""),
        ("shop.localhost", "/", "\"pod\": \"storefront"),
    ] {
        eventually(&format!("{host}{path} answers {answering}"), async || {
            let answer = get(&address, host, path).await;
            answer.ok().filter(|(status, body)| *status == 200 && body.contains(answering))
        })
        .await;
    }

    let printed = Command::new(&stage.program).args(["status", "-o", "json"]).arg(&files).output().unwrap();
    let expected: Value = serde_json::from_slice(&printed.stdout).unwrap();
    for item in expected["items"].as_array().unwrap() {
        let (kind, metadata) = (item["kind"].as_str().unwrap(), &item["metadata"]);
        let (namespace, name) = (metadata["namespace"].as_str().unwrap_or_default(), &metadata["name"]);
        let wanted = comparable(&item["status"]);
        let is_so = |status: &Value| comparable(status) == wanted;
        let what = format!("{wanted:#}");
        stage.when(kind, namespace, name.as_str().unwrap(), &what, is_so).await;
    }
}

fn pod((namespace, name, port): (&str, &str, u16)) -> String {
    let environment = json!([
        {"name": "HTTP_PORT", "value": port.to_string()},
        {"name": "POD_NAME", "value": name},
        {"name": "NAMESPACE", "value": namespace},
    ]);
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{namespace: {namespace}, name: {name}, labels: {{app: {name}}}}}
spec:
  containers:
    - name: echo
      image: gcr.io/k8s-staging-gateway-api/echo-basic:v0.1.0
      env: {environment}
      readinessProbe: {{tcpSocket: {{port: {port}}}, periodSeconds: 1}}
"
    )
}

/// A status without what differs between a file and a cluster: times, generations, addresses.
fn comparable(status: &Value) -> Value {
    match status {
        Value::Object(fields) => {
            let apart = ["lastTransitionTime", "observedGeneration", "addresses"];
            let fields = fields.iter().filter(|(name, _)| !apart.contains(&name.as_str()));
            fields.map(|(name, value)| (name.clone(), comparable(value))).collect()
        }
        Value::Array(items) => items.iter().map(comparable).collect(),
        other => other.clone(),
    }
}
