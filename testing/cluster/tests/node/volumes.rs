//! Volumes.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::space::{IMAGE, Space, condition, container, is_ready, shell};

/// A container that is ready while a file has a text.
fn reader(name: &str, file: &str, text: &str) -> Value {
    let mut container = shell(name, "sleep 1000000");
    container["volumeMounts"] = json!([{"name": "secret", "mountPath": "/etc/secret-volume"}]);
    let test = json!({"command": ["grep", "-qx", text, format!("/etc/secret-volume/{file}")]});
    container["readinessProbe"] = json!({"exec": test, "periodSeconds": 1, "failureThreshold": 1});
    container
}

pub(crate) async fn a_pod_waits_for_its_secret_alone_and_follows_it(space: &Space<'_>) {
    let items = json!([{"key": "tls.crt", "path": "sub/crt"}]);
    let spec = json!({
        "containers": [reader("old", "sub/crt", "first"), reader("new", "sub/crt", "second")],
        "volumes": [{"name": "secret", "secret": {"secretName": "late", "items": items}}],
    });
    space.pod("waiting", spec).await;
    space.pod("other", json!({"containers": [{"name": "echo", "image": IMAGE}]})).await;
    space.when("other", "ready", is_ready).await;
    let says = "volume \"secret\": secret \"late\" not found";
    let waits =
        |pod: &Pod| condition(pod, "PodReadyToStartContainers").is_some_and(|(_, message)| message == says);
    space.when("waiting", "waiting for its secret", waits).await;

    let secrets: Api<Secret> = Api::namespaced(space.client.clone(), space.name);
    let secret = json!({"metadata": {"name": "late"}, "stringData": {"tls.crt": "first\n"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let ready = |pod: &Pod, which: &str| container(pod, which).is_some_and(|status| status.ready);
    space.when("waiting", "showing the first text", |pod| ready(pod, "old") && !ready(pod, "new")).await;

    let change = json!({"stringData": {"tls.crt": "second\n"}});
    secrets.patch("late", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    let pod =
        space.when("waiting", "showing the second text", |pod| ready(pod, "new") && !ready(pod, "old")).await;
    assert_eq!(container(&pod, "new").unwrap().restart_count, 0);
}

pub(crate) async fn every_kind_of_volume_is_there(space: &Space<'_>) {
    let maps: Api<ConfigMap> = Api::namespaced(space.client.clone(), space.name);
    let map = json!({"metadata": {"name": "map"}, "data": {"key": "value\n"}});
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    let script = "cat /map/key; ls /absent | wc -l; cat /facts/name; echo; echo x > /scratch/file && cat /scratch/file
        cd /var/run/secrets/kubernetes.io/serviceaccount && cat namespace && echo && test -s token && head -1 ca.crt
        touch /map/new 2>/dev/null || echo read-only; cat /one/file; cat /nested/map/key";
    let mut main = shell("main", script);
    main["volumeMounts"] = json!([
        {"name": "map", "mountPath": "/nested/map"},
        {"name": "map", "mountPath": "/map"},
        {"name": "map", "mountPath": "/one/file", "subPath": "key"},
        {"name": "absent", "mountPath": "/absent"},
        {"name": "facts", "mountPath": "/facts"},
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "scratch", "mountPath": "/nested"},
    ]);
    let name = json!([{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]);
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [main],
        "volumes": [
            {"name": "map", "configMap": {"name": "map"}},
            {"name": "absent", "secret": {"secretName": "absent", "optional": true}},
            {"name": "facts", "downwardAPI": {"items": name}},
            {"name": "scratch", "emptyDir": {}},
        ],
    });
    space.pod("volumes", spec).await;
    space.when("volumes", "over", |pod| crate::space::phase(pod) == "Succeeded").await;
    let expected = "value\n0\nvolumes\nx\nvolumes\n-----BEGIN CERTIFICATE-----\nread-only\nvalue\nvalue\n";
    assert_eq!(space.kubectl(&["logs", "volumes"]), expected);
}
