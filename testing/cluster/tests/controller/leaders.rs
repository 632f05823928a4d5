//! Of two controllers one leads.

use std::time::Instant;

use crate::{
    audit::Audit,
    client::get,
    many::Many,
    site::BYSTANDER,
    stage::{CONTROLLER, Stage, eventually},
};

const STANDBY: &str = "standby";

/// Who leads is killed while it writes; the other goes on where it was, serves what the first served, under the
/// same address, and every status is right.
#[tokio::test(flavor = "multi_thread")]
async fn the_other_one_takes_over_from_a_leader_that_is_killed_while_it_writes() {
    let Some(mut stage) = Stage::start("leaders").await else { return };
    let address = stage.serve_site().await;
    // On one machine it cannot bind what the leader has bound, and tries again until it can.
    stage.start_standby(STANDBY);
    eventually("the standby has read the cluster", async || {
        stage.log(STANDBY).contains("the cluster is read").then_some(())
    })
    .await;

    let mut audit = Audit::default();
    audit.news(&stage.cluster);
    let many = Many::of(&stage);
    let midst = eventually_written(&mut audit, &stage);
    tokio::join!(many.create(0..300), midst);
    stage.cluster.kill(CONTROLLER);
    let killed = Instant::now();
    let (were_right, _) = many.are_right().await;
    assert!(!were_right, "it was killed after it had written everything");

    eventually("the bystander is served by the other one", async || {
        get(&address, BYSTANDER, "/").await.ok().filter(|(status, _)| *status == 200)
    })
    .await;
    eprintln!("served again after {:?}", killed.elapsed());
    eventually("all statuses are right", async || many.are_right().await.0.then_some(())).await;
    eprintln!("statuses right after {:?}", killed.elapsed());
    stage.attached(301).await;
    assert_eq!(stage.address("site", "web").await, address);
    assert!(stage.log(STANDBY).contains("this controller leads"));
}

/// Waits until some of the statuses are written.
async fn eventually_written(audit: &mut Audit, stage: &Stage) {
    let mut written = 0;
    eventually("some statuses are written", async || {
        written += audit.writes(&stage.cluster).len();
        (written > 20).then_some(())
    })
    .await;
}
