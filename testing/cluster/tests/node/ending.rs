//! The end of pods.

use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::json;

use crate::space::{Space, is_ready, shell};

pub(crate) async fn a_pod_ends_with_its_process_or_its_grace(space: &Space<'_>) {
    let trap = "trap 'echo asked' TERM; while :; do sleep 0.1; done";
    let stubborn = json!({"terminationGracePeriodSeconds": 2, "containers": [shell("main", trap)]});
    // Its children hold on to its output, and ignore what it does not.
    let willing = json!({"containers": [shell("main", "(trap '' TERM; sleep 1000000) & sleep 1000000")]});
    let took = |name: &'static str, spec| async move {
        space.pod(name, spec).await;
        let pod = space.when(name, "ready", is_ready).await;
        let begin = Instant::now();
        space.pods.delete(name, &DeleteParams::default()).await.unwrap();
        space.gone(&pod).await;
        begin.elapsed()
    };
    let (stubborn, willing) = tokio::join!(took("stubborn", stubborn), took("willing", willing));
    assert!(stubborn >= Duration::from_secs(2), "the process had its grace: {stubborn:?}");
    assert!(stubborn < Duration::from_secs(12), "and no more: {stubborn:?}");
    assert!(willing < Duration::from_secs(10), "nobody waits for a grace of 30 s: {willing:?}");
}
