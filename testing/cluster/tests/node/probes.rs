//! Probes.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::space::{IMAGE, Space, condition, container, is_ready, shell};

pub(crate) async fn probes_decide_readiness_and_restarts(space: &Space<'_>) {
    tokio::join!(http_and_tcp(space), unready(space), liveness(space), startup(space));
}

fn echo(probes: &Value) -> Value {
    let mut container =
        json!({"name": "echo", "image": IMAGE, "ports": [{"name": "web", "containerPort": 3000}]});
    container.as_object_mut().unwrap().extend(probes.as_object().unwrap().clone());
    json!({"containers": [container]})
}

async fn http_and_tcp(space: &Space<'_>) {
    let probes = json!({
        "startupProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 1},
        "readinessProbe": {"httpGet": {"path": "/health", "port": "web"}, "periodSeconds": 1},
        "livenessProbe": {"httpGet": {"path": "/status/200", "port": 3000}, "periodSeconds": 1},
    });
    space.pod("healthy", echo(&probes)).await;
    let pod = space.when("healthy", "ready", is_ready).await;
    assert_eq!(container(&pod, "echo").unwrap().restart_count, 0);
}

async fn unready(space: &Space<'_>) {
    let probes =
        json!({"readinessProbe": {"httpGet": {"path": "/status/503", "port": 3000}, "periodSeconds": 1}});
    space.pod("unready", echo(&probes)).await;
    let started = |pod: &Pod| container(pod, "echo").is_some_and(|status| status.started == Some(true));
    let pod = space.when("unready", "started", started).await;
    let expected = ("False".to_owned(), "containers with unready status: [echo]".to_owned());
    assert_eq!(condition(&pod, "Ready"), Some(expected));
}

async fn liveness(space: &Space<'_>) {
    let mut main = shell(
        "main",
        "if [ -e /kept/once ]; then sleep 1000000; fi; touch /kept/once /tmp/sick; sleep 1000000",
    );
    main["livenessProbe"] = json!({"exec": {"command": ["test", "!", "-e", "/tmp/sick"]}, "periodSeconds": 1, "failureThreshold": 1});
    main["volumeMounts"] = json!([{"name": "kept", "mountPath": "/kept"}]);
    space.pod("sick", json!({"containers": [main], "volumes": [{"name": "kept", "emptyDir": {}}]})).await;
    let restarted =
        |pod: &Pod| is_ready(pod) && container(pod, "main").is_some_and(|status| status.restart_count == 1);
    let pod = space.when("sick", "restarted", restarted).await;
    let last = container(&pod, "main").unwrap().last_state.clone().unwrap().terminated.unwrap();
    assert_eq!((last.exit_code, last.signal), (143, Some(15)), "it was asked to end");
    assert!(last.message.unwrap().starts_with("liveness probe: exit status: 1"));
}

async fn startup(space: &Space<'_>) {
    let probe = json!({"tcpSocket": {"port": 9}, "periodSeconds": 1, "failureThreshold": 2});
    space.pod("stuck", echo(&json!({"startupProbe": probe}))).await;
    let restarted = |pod: &Pod| container(pod, "echo").is_some_and(|status| status.restart_count >= 1);
    let pod = space.when("stuck", "restarted", restarted).await;
    let last = container(&pod, "echo").unwrap().last_state.clone().unwrap().terminated.unwrap();
    assert!(last.message.unwrap().starts_with("startup probe: Connection refused"));
}
