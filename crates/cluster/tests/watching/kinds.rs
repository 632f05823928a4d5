//! Kinds come and go while a feed runs.

use crate::fake::Fake;
use crate::objects::{class, gateway, route, service};
use crate::watcher::{Watcher, key};
use portcullis_api::Kind;
use serde_json::json;

const GROUP: &str = "gateway.networking.k8s.io";

#[tokio::test(start_paused = true)]
async fn a_kind_that_appears_is_watched_and_its_objects_go_with_it() {
    let fake = Fake::new();
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    let mut watcher = Watcher::synced(&fake).await;
    let set = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet",
        "metadata": {"name": "more", "namespace": "default"},
        "spec": {"parentRef": {"name": "web"}, "listeners": [{"name": "a", "port": 81, "protocol": "HTTP"}]}});
    let more = key(Kind::ListenerSet, "more");

    fake.serve(GROUP, "listenersets", &["v1"]);
    fake.put(set);
    watcher.until(|watcher| watcher.has(&more)).await;

    fake.serve(GROUP, "listenersets", &[]);
    watcher.until(|watcher| !watcher.has(&more)).await;
    assert!(!watcher.held.contains_key(&more));
    assert!(watcher.has(&key(Kind::Gateway, "web")), "other kinds stay");
}

#[tokio::test(start_paused = true)]
async fn another_version_is_read_without_a_gap() {
    let fake = Fake::new();
    fake.serve(GROUP, "httproutes", &["v1beta1"]);
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    fake.put(service("a"));
    fake.put(route("r", "a"));
    let mut watcher = Watcher::synced(&fake).await;
    let r = key(Kind::HttpRoute, "r");
    assert_eq!(watcher.held[&r].version, "v1beta1");

    fake.serve(GROUP, "httproutes", &["v1"]);
    watcher.until(|watcher| watcher.held[&r].version == "v1").await;
    assert!(!watcher.changes.contains(&"-HTTPRoute/default/r".to_owned()), "{:?}", watcher.changes);

    fake.put(route("later", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "later"))).await;
}

#[tokio::test(start_paused = true)]
async fn pages_are_listed_where_lists_are_not_streamed() {
    let fake = Fake::new();
    fake.state().has_no_streamed_lists = true;
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    let mut watcher = Watcher::synced(&fake).await;
    assert!(watcher.has(&key(Kind::Gateway, "web")));
    fake.put(gateway("later", 80, &[]));
    watcher.until(|watcher| watcher.has(&key(Kind::Gateway, "later"))).await;
}
