//! Changes without end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::{
    client::get,
    many::Many,
    stage::{CONTROLLER, Stage, eventually},
};

/// How soon a route has its status while others change without rest.
const SOON: Duration = Duration::from_secs(10);

/// The pause between two changes.
const PERIOD: Duration = Duration::from_millis(5);

/// What waits for a quiet moment before it writes would never write: routes have their statuses, and are served, while
/// routes of another namespace change all the time.
#[tokio::test(flavor = "multi_thread")]
async fn steady_changes_starve_nobody() {
    let Some(mut stage) = Stage::start("churn").await else { return };
    let address = stage.serve_site().await;
    stage.cluster.apply(ELSEWHERE).unwrap();
    let (ends, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let churn = (0..4).map(|number| {
        let name = format!("busy-{number}");
        stage.cluster.apply(&busy(&name)).unwrap();
        let routes = stage.objects("v1", "HTTPRoute", "elsewhere");
        let (ends, changes) = (Arc::clone(&ends), Arc::clone(&changes));
        tokio::spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                let host = format!("{}.elsewhere.example", changes.fetch_add(1, Ordering::Relaxed));
                let change = Patch::Merge(json!({"spec": {"hostnames": [host]}}));
                routes.patch(&name, &PatchParams::default(), &change).await.unwrap();
                tokio::time::sleep(PERIOD).await;
            }
        })
    });
    let churn: Vec<_> = churn.collect();
    let many = Many::of(&stage);
    many.create(0..300).await;
    let (created, before) = (Instant::now(), changes.load(Ordering::Relaxed));
    eventually("all statuses are right", async || many.are_right().await.0.then_some(())).await;
    let settled = created.elapsed();
    eventually("the last is served", async || {
        get(&address, "299.example", "/").await.ok().filter(|(status, _)| *status == 200)
    })
    .await;
    let meanwhile = changes.load(Ordering::Relaxed) - before;
    ends.store(true, Ordering::Relaxed);
    for task in churn {
        task.await.unwrap();
    }
    eprintln!("right after {settled:?}; {before} changes before, {meanwhile} meanwhile");
    assert!(settled <= SOON, "{settled:?}");
    assert!(before > 30, "{before} changes while 300 routes were made are no steady ones");
    // And what never rested has its own status in the end.
    for number in 0..4 {
        stage.accepted("elsewhere", &format!("busy-{number}")).await;
    }
    stage.attached(301).await;
}

/// What is known of routes goes with them, statuses that were to be written about them too.
#[tokio::test(flavor = "multi_thread")]
async fn routes_that_come_and_go_leave_no_memory_behind() {
    let Some(mut stage) = Stage::start("memory").await else { return };
    stage.serve_site().await;
    let many = Many::of(&stage);
    let mut after = Vec::new();
    for _ in 0..10 {
        many.create(0..300).await;
        stage.attached(301).await;
        many.delete(0..300).await;
        stage.attached(1).await;
        after.push(stage.cluster.resident_memory(CONTROLLER).unwrap());
    }
    eprintln!("{after:?} bytes after each round");
    // Rounds differ by a megabyte or two, by the blocks in which the allocator takes and gives back.
    let (first, last) = (after[..3].iter().max().unwrap(), after[7..].iter().min().unwrap());
    assert!(*last < first + (4 << 20), "{after:?} bytes after each round");
}

const ELSEWHERE: &str = "apiVersion: v1
kind: Namespace
metadata: {name: elsewhere}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: elsewhere, name: web}
spec:
  gatewayClassName: portcullis
  listeners: [{name: http, protocol: HTTP, port: 80}]
";

/// A route that has nothing to do with the site.
fn busy(name: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{namespace: elsewhere, name: {name}}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [{name}.elsewhere.example]
  rules: [{{backendRefs: [{{name: absent, port: 80}}]}}]
"
    )
}
