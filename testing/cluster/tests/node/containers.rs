//! Containers: what they are given, their order, their restarts.

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{Api, api::PostParams};
use serde_json::json;

use crate::space::{IMAGE, Space, container, is_ready, phase, shell};

pub(crate) async fn environment_and_arguments(space: &Space<'_>) {
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let env = json!([
        field("POD", "metadata.name"),
        field("SPACE", "metadata.namespace"),
        field("IP", "status.podIP"),
        field("NODE", "spec.nodeName"),
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "later", "key": "key"}}},
        {"name": "ALL", "value": "$(SPACE)/$(POD) on $(NODE)"},
    ]);
    let main = json!({
        "name": "main", "image": IMAGE, "env": env, "workingDir": "/made/for/it",
        "command": ["sh", "-c", "echo $0 $1; echo $ALL; echo $KEY; pwd; echo $IP"], "args": ["$(POD)", "$$(POD)"],
    });
    space.pod("given", json!({"restartPolicy": "Never", "containers": [main]})).await;
    let waits = |pod: &Pod| {
        let state = container(pod, "main").and_then(|status| status.state.as_ref()?.waiting.as_ref());
        state.is_some_and(|waiting| waiting.message.as_deref() == Some("secret \"later\" not found"))
    };
    space.when("given", "waiting for its variable", waits).await;
    let secrets: Api<Secret> = Api::namespaced(space.client.clone(), space.name);
    let secret = json!({"metadata": {"name": "later"}, "stringData": {"key": "hidden"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let pod = space.when("given", "over", |pod| phase(pod) == "Succeeded").await;
    let address = pod.status.unwrap().pod_ip.unwrap();
    let expected = format!("given $(POD)\nenvironment/given on node\nhidden\n/made/for/it\n{address}\n");
    assert_eq!(space.kubectl(&["logs", "given"]), expected);
}

pub(crate) async fn init_containers_come_first(space: &Space<'_>) {
    let shared = |mut container: serde_json::Value| {
        container["volumeMounts"] = json!([{"name": "shared", "mountPath": "/shared"}]);
        container
    };
    let mut sidecar = shared(shell("sidecar", "echo sidecar >> /shared/order; sleep 1000000"));
    sidecar["restartPolicy"] = json!("Always");
    sidecar["startupProbe"] =
        json!({"exec": {"command": ["grep", "sidecar", "/shared/order"]}, "periodSeconds": 1});
    let spec = json!({
        "initContainers": [
            shared(shell("first", "echo first >> /shared/order")),
            sidecar,
            shared(shell("last", "echo last >> /shared/order")),
        ],
        "containers": [shared(shell("main", "cat /shared/order; sleep 1000000"))],
        "volumes": [{"name": "shared", "emptyDir": {}}],
    });
    space.pod("ordered", spec).await;
    let pod = space.when("ordered", "ready", is_ready).await;
    let code = |name: &str| Some(container(&pod, name)?.state.as_ref()?.terminated.as_ref()?.exit_code);
    assert_eq!((code("first"), code("last"), code("sidecar")), (Some(0), Some(0), None));
    assert_eq!(space.kubectl(&["logs", "ordered", "--container=main"]), "first\nsidecar\nlast\n");

    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [shell("first", "exit 4")],
        "containers": [shell("main", "echo never")],
    });
    space.pod("failing", spec).await;
    let pod = space.when("failing", "failed", |pod| phase(pod) == "Failed").await;
    assert!(container(&pod, "main").unwrap().state.as_ref().unwrap().waiting.is_some());
}

pub(crate) async fn the_restart_policy_is_kept(space: &Space<'_>) {
    let spec =
        |policy: &str, script: &str| json!({"restartPolicy": policy, "containers": [shell("main", script)]});
    space.pod("never", spec("Never", "exit 3")).await;
    space.pod("on-failure", spec("OnFailure", "echo over")).await;
    space.pod("always", spec("Always", "echo run; exit 0")).await;
    space.pod("killed", spec("Never", "kill -9 $$$$")).await;

    let pod = space.when("never", "failed", |pod| phase(pod) == "Failed").await;
    let code =
        |pod: &Pod| container(pod, "main")?.state.as_ref()?.terminated.as_ref().map(|ended| ended.exit_code);
    assert_eq!(code(&pod), Some(3));
    let pod = space.when("killed", "failed", |pod| phase(pod) == "Failed").await;
    assert_eq!(code(&pod), Some(137));
    let pod = space.when("on-failure", "over", |pod| phase(pod) == "Succeeded").await;
    assert_eq!(container(&pod, "main").unwrap().restart_count, 0);
    let backs_off = |pod: &Pod| {
        let status = container(pod, "main").filter(|status| status.restart_count >= 1);
        let waiting = status.and_then(|status| status.state.as_ref()?.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some("CrashLoopBackOff"))
    };
    space.when("always", "backing off", backs_off).await;
    assert_eq!(space.kubectl(&["logs", "always", "--previous"]), "run\n");
}
