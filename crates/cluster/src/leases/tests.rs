//! Candidates against an API server, in virtual time.

use serde_json::json;

use super::*;
use crate::mock::Cluster;

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/portcullis/leases/controller";

fn candidate(identity: &str) -> Candidate {
    Candidate { namespace: "portcullis".into(), name: "controller".into(), identity: identity.into() }
}

fn stand(cluster: &Cluster, identity: &str) -> Election {
    Election::start(cluster.client(), candidate(identity))
}

fn spec(cluster: &Cluster, field: &str) -> serde_json::Value {
    cluster.object(PATH).unwrap()["spec"][field].clone()
}

async fn leads(election: &Election) -> Duration {
    let start = Instant::now();
    election.leading().wait_for(|leading| *leading).await.unwrap();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_first_leads_and_renews_and_the_second_waits() {
    let cluster = Cluster::default();
    let first = stand(&cluster, "a");
    leads(&first).await;
    let second = stand(&cluster, "b");
    sleep(Duration::from_secs(60)).await;
    assert!(*first.leading().borrow() && !*second.leading().borrow());
    assert_eq!(
        (spec(&cluster, "holderIdentity"), spec(&cluster, "leaseTransitions")),
        (json!("a"), json!(0))
    );
    let writes = cluster.writes().len();
    assert!((29..=32).contains(&writes), "one write every 2 s: {writes}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_taken_at_once() {
    let cluster = Cluster::default();
    let first = stand(&cluster, "a");
    leads(&first).await;
    let second = stand(&cluster, "b");
    sleep(Duration::from_secs(10)).await;
    let leading = first.leading();
    first.end().await;
    assert!(!*leading.borrow());
    assert!(leads(&second).await <= 2 * RETRY);
    assert_eq!(
        (spec(&cluster, "holderIdentity"), spec(&cluster, "leaseTransitions")),
        (json!("b"), json!(1))
    );
}

/// The leader cannot reach the API server and others can: it ceases to lead before another one begins.
#[tokio::test(start_paused = true)]
async fn who_cannot_renew_ceases_before_another_takes_over() {
    let (cluster, cut_off) = (Cluster::default(), Cluster::default());
    let first = stand(&cut_off, "a");
    leads(&first).await;
    sleep(Duration::from_secs(5)).await;
    // The Lease as both saw it last; from here on the first one is cut off.
    let lease = cut_off.object(PATH).unwrap();
    cluster.put(PATH, lease);
    cut_off.silent(true);
    let second = stand(&cluster, "b");
    let start = Instant::now();
    first.leading().wait_for(|leading| !*leading).await.unwrap();
    assert!(start.elapsed() <= DEADLINE, "{:?}", start.elapsed());
    assert!(!*second.leading().borrow());
    leads(&second).await;
    let waited = start.elapsed();
    assert!(waited >= DURATION && waited <= DURATION + 2 * RETRY, "{waited:?}");
}

/// Whatever the wall clock of the holder says: only that the Lease changes counts.
#[tokio::test(start_paused = true)]
async fn a_dead_holder_is_replaced_and_a_living_one_with_a_wrong_clock_is_not() {
    let cluster = Cluster::default();
    let renewed = |time: &str| {
        json!({"metadata": {"name": "controller"}, "spec": {
            "holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": time, "leaseTransitions": 4,
        }})
    };
    cluster.put(PATH, renewed("2001-01-01T00:00:00.000000Z"));
    let election = stand(&cluster, "a");
    for second in 0..20 {
        sleep(Duration::from_secs(5)).await;
        cluster.put(PATH, renewed(&format!("2001-01-01T00:00:{second:02}.000000Z")));
    }
    assert!(!*election.leading().borrow());
    let waited = leads(&election).await;
    assert!(waited >= DURATION - 2 * RETRY && waited <= DURATION + 4 * RETRY, "{waited:?}");
    assert_eq!(spec(&cluster, "leaseTransitions"), 5);
}

#[tokio::test(start_paused = true)]
async fn who_finds_another_holder_ceases_at_once() {
    let cluster = Cluster::default();
    let election = stand(&cluster, "a");
    leads(&election).await;
    cluster.interfere(PATH, |lease| lease["spec"]["holderIdentity"] = "b".into());
    let start = Instant::now();
    election.leading().wait_for(|leading| !*leading).await.unwrap();
    assert!(start.elapsed() <= RETRY, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_short_failure_costs_nothing_and_a_missing_permission_no_more_than_waiting() {
    let cluster = Cluster::default();
    cluster.refuse(&[403, 403, 403]);
    let election = stand(&cluster, "a");
    leads(&election).await;
    cluster.refuse(&[500, 500, 500]);
    sleep(Duration::from_secs(30)).await;
    assert!(*election.leading().borrow());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_is_made_anew() {
    let cluster = Cluster::default();
    let election = stand(&cluster, "a");
    leads(&election).await;
    cluster.remove(PATH);
    sleep(Duration::from_secs(30)).await;
    assert!(*election.leading().borrow());
    assert_eq!(spec(&cluster, "holderIdentity"), "a");
}
