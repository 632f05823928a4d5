//! A writer against an API server: what it writes, how often, and what it leaves alone.

use std::time::Duration;

use portcullis_api::Kind;
use serde_json::json;

use super::*;
use crate::Held;
use crate::mock::Cluster;

const US: &str = "portcullis.dev/gateway-controller";

fn route(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::HttpRoute, "default", name)
}

fn path(key: &ObjectKey) -> String {
    crate::requests::path(key, "v1")
}

fn put(cluster: &Cluster, key: &ObjectKey) {
    let metadata = json!({"name": *key.name, "namespace": *key.namespace, "generation": 1});
    cluster.put(&path(key), json!({"metadata": metadata, "spec": {}}));
}

/// What a watch would say about an object.
fn seen(cluster: &Cluster, key: &ObjectKey) -> Seen {
    let held = cluster.object(&path(key)).map(|object| Held {
        version: "v1",
        uid: object["metadata"]["uid"].as_str().unwrap().into(),
        resource_version: object["metadata"]["resourceVersion"].as_str().unwrap().into(),
        generation: object["metadata"]["generation"].as_i64().unwrap(),
        status: object.get("status").cloned().map(Arc::new),
    });
    Seen { key: key.clone(), held }
}

fn entry(controller: &str, accepted: &str) -> Value {
    let condition = json!({
        "type": "Accepted", "status": accepted, "reason": "Accepted", "message": "", "observedGeneration": 1,
    });
    json!({"parentRef": {"name": "gw"}, "controllerName": controller, "conditions": [condition]})
}

fn wanted(accepted: &str) -> Option<Arc<Value>> {
    Some(Arc::new(json!({"parents": [entry(US, accepted)]})))
}

struct Bench {
    cluster: Cluster,
    writer: StatusWriter,
    leading: watch::Sender<bool>,
}

impl Bench {
    fn new(cluster: &Cluster, leads: bool) -> Bench {
        let (leading, led) = watch::channel(leads);
        let writer = StatusWriter::start(cluster.client(), vec![US.into()], led);
        Bench { cluster: cluster.clone(), writer, leading }
    }

    fn see(&self, key: &ObjectKey) {
        self.writer.seen(vec![seen(&self.cluster, key)]);
    }

    fn want(&self, key: &ObjectKey, status: Option<Arc<Value>>) {
        self.writer.want(vec![(key.clone(), status)]);
    }

    /// Waits until everything that was told before is done; the time is virtual.
    async fn settled(&self) -> WriteCounts {
        tokio::time::sleep(Duration::from_millis(1)).await;
        *self.writer.counts().wait_for(|counts| counts.pending == 0).await.unwrap()
    }

    fn accepted(&self, key: &ObjectKey) -> Value {
        let object = self.cluster.object(&path(key)).unwrap();
        object["status"]["parents"][0]["conditions"][0]["status"].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_once_and_a_restart_writes_nothing() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    for _ in 0..2 {
        let bench = Bench::new(&cluster, true);
        bench.see(&key);
        bench.want(&key, wanted("True"));
        bench.settled().await;
        bench.see(&key);
        bench.settled().await;
        assert_eq!(bench.accepted(&key), "True");
    }
    assert_eq!(cluster.requests(), [format!("PUT {}/status?fieldManager=portcullis", path(&key))]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_about_an_object_before_anybody_has_said_what() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.settled().await;
    assert_eq!(cluster.requests(), [""; 0]);
}

/// Another controller writes its entry between our reading and our write: both stand in the end.
#[tokio::test(start_paused = true)]
async fn a_conflict_is_merged_anew() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    let theirs = entry("other.example/controller", "False");
    let status = json!({"parents": [theirs]});
    cluster.interfere(&path(&key), move |object| object["status"] = status);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    let counts = bench.settled().await;
    assert_eq!((counts.written, counts.conflicts, counts.failures), (1, 1, 0));
    let parents = cluster.object(&path(&key)).unwrap()["status"]["parents"].clone();
    assert_eq!(parents[0], theirs);
    assert_eq!(parents[1]["controllerName"], US);
}

#[tokio::test(start_paused = true)]
async fn the_newest_wish_wins_and_one_write_is_in_flight() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    cluster.latency(Duration::from_millis(100));
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    bench.want(&key, wanted("Unknown"));
    bench.want(&key, wanted("False"));
    let counts = bench.settled().await;
    assert_eq!((counts.written, counts.conflicts), (2, 0));
    assert_eq!(bench.accepted(&key), "False");
}

/// The watch is behind our own write: that is no reason to write again.
#[tokio::test(start_paused = true)]
async fn what_was_seen_before_our_own_write_is_old_news() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    let bench = Bench::new(&cluster, true);
    let old = seen(&cluster, &key);
    bench.writer.seen(vec![old.clone()]);
    bench.want(&key, wanted("True"));
    bench.settled().await;
    bench.writer.seen(vec![old]);
    bench.settled().await;
    assert_eq!(cluster.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_writes_and_who_takes_over_starts_at_once() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    let bench = Bench::new(&cluster, false);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    bench.settled().await;
    assert_eq!(cluster.requests(), [""; 0]);
    bench.leading.send_replace(true);
    bench.settled().await;
    assert_eq!(cluster.writes().len(), 1);
    bench.leading.send_replace(false);
    bench.want(&key, wanted("False"));
    bench.settled().await;
    assert_eq!(cluster.writes().len(), 1);
}

/// The lease is lost while the API server keeps an answer back: the request is dropped with it.
#[tokio::test(start_paused = true)]
async fn who_leads_no_more_drops_what_is_in_flight() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    cluster.latency(Duration::from_secs(1));
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    bench.leading.send_replace(false);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(cluster.requests(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_tried_again_with_growing_delays() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    cluster.refuse(&[500, 503, 429]);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    let start = tokio::time::Instant::now();
    let counts = bench.settled().await;
    assert_eq!((counts.written, counts.failures), (1, 3));
    let waited = start.elapsed();
    assert!((1400..=2900).contains(&waited.as_millis()), "0.2 + 0.4 + 0.8 s, up to twice that: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_silent_for_minutes_gets_what_it_missed() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    cluster.silent(true);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    tokio::time::sleep(Duration::from_secs(300)).await;
    cluster.silent(false);
    bench.settled().await;
    assert_eq!(bench.accepted(&key), "True");
    assert_eq!(cluster.writes().len(), 1);
}

/// An API server that has just started does not know all CRDs yet.
#[tokio::test(start_paused = true)]
async fn what_is_not_found_is_tried_again_until_the_watch_says_that_it_is_gone() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    cluster.refuse(&[404, 404]);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    let counts = bench.settled().await;
    assert_eq!((counts.written, counts.failures), (1, 0));
    cluster.remove(&path(&key));
    bench.want(&key, wanted("False"));
    tokio::time::sleep(Duration::from_secs(10)).await;
    bench.writer.seen(vec![Seen { key: key.clone(), held: None }]);
    bench.settled().await;
    let asked = cluster.requests().len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(cluster.requests().len(), asked);
}

/// A CRD of an older bundle drops a field of ours: it is written once and not missed again, on other objects too.
#[tokio::test(start_paused = true)]
async fn what_the_schema_lacks_is_learned_from_the_first_answer() {
    let cluster = Cluster::default();
    cluster.lacks("attachedListenerSets");
    let keys = ["a", "b"].map(|name| ObjectKey::new(Kind::Gateway, "default", name));
    let bench = Bench::new(&cluster, true);
    let conditions = entry("", "True")["conditions"].clone();
    let wanted = |sets| Some(Arc::new(json!({"conditions": conditions, "attachedListenerSets": sets})));
    for key in &keys {
        put(&cluster, key);
        bench.see(key);
        bench.want(key, wanted(0));
        bench.settled().await;
        bench.see(key);
        bench.settled().await;
    }
    assert_eq!(cluster.writes().len(), 2);
    bench.want(&keys[0], wanted(1));
    bench.settled().await;
    assert_eq!(cluster.writes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn entries_of_ours_go_when_no_parent_is_ours_any_more() {
    let (cluster, key) = (Cluster::default(), route("r"));
    let theirs = entry("other.example/controller", "True");
    let metadata = json!({"name": "r", "namespace": "default", "generation": 1});
    let status = json!({"parents": [entry(US, "True"), theirs]});
    cluster.put(&path(&key), json!({"metadata": metadata, "status": status}));
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, None);
    bench.settled().await;
    assert_eq!(cluster.object(&path(&key)).unwrap()["status"], json!({"parents": [theirs]}));
}

/// Conditions name no owner, so a Gateway of another class is read once to see whose they are.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_lost_its_class_returns_to_the_defaults_and_a_foreign_one_is_left_alone() {
    let cluster = Cluster::default();
    let condition = entry("", "True")["conditions"].clone();
    let key = |manager: &str| {
        let key = ObjectKey::new(Kind::Gateway, "default", manager);
        let fields = json!({"f:status": {"f:conditions": {"k:{\"type\":\"Accepted\"}": {"f:status": {}}}}});
        let managed = json!([{"manager": manager, "fieldsV1": fields}]);
        let metadata =
            json!({"name": manager, "namespace": "default", "generation": 2, "managedFields": managed});
        cluster.put(&path(&key), json!({"metadata": metadata, "status": {"conditions": condition}}));
        key
    };
    let (ours, theirs) = (key("portcullis"), key("other"));
    let bench = Bench::new(&cluster, true);
    for key in [&ours, &theirs] {
        bench.see(key);
        bench.want(key, None);
        bench.settled().await;
        bench.see(key);
        bench.settled().await;
    }
    assert_eq!(cluster.object(&path(&ours)).unwrap()["status"]["conditions"][0]["status"], "Unknown");
    assert_eq!(cluster.object(&path(&theirs)).unwrap()["status"]["conditions"], condition);
    assert_eq!(cluster.writes().len(), 1);
    let reads = cluster.requests().iter().filter(|line| **line == format!("GET {}", path(&theirs))).count();
    assert_eq!(reads, 1);
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_same_name_is_another_object() {
    let (cluster, key) = (Cluster::default(), route("r"));
    put(&cluster, &key);
    let bench = Bench::new(&cluster, true);
    bench.see(&key);
    bench.want(&key, wanted("True"));
    bench.settled().await;
    bench.writer.seen(vec![Seen { key: key.clone(), held: None }]);
    put(&cluster, &key);
    bench.see(&key);
    bench.settled().await;
    assert_eq!(bench.accepted(&key), "True", "what is wanted holds for the new one, too");
}

/// 2,000 routes with an API server that takes 20 ms an answer.
#[tokio::test(start_paused = true)]
async fn a_flood_of_routes_settles_in_time() {
    let cluster = Cluster::default();
    cluster.latency(Duration::from_millis(20));
    let bench = Bench::new(&cluster, true);
    let keys: Vec<ObjectKey> = (0..2000).map(|n| route(&format!("r{n}"))).collect();
    for key in &keys {
        put(&cluster, key);
        bench.see(key);
        bench.want(key, wanted("True"));
    }
    let start = tokio::time::Instant::now();
    let counts = bench.settled().await;
    assert_eq!((counts.written, counts.conflicts, counts.failures), (2000, 0, 0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
