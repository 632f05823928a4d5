//! Watches of different kinds are unordered; what is handed on is in order all the same.

use crate::fake::Fake;
use crate::objects::{class, gateway, namespace, route, service, slice};
use crate::watcher::{Watcher, key};
use portcullis_api::{Kind, Object};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

async fn with_gateway() -> (Fake, Watcher) {
    let fake = Fake::new();
    fake.put(namespace("default"));
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    let watcher = Watcher::synced(&fake).await;
    (fake, watcher)
}

#[tokio::test(start_paused = true)]
async fn a_route_comes_no_earlier_than_its_service_and_endpoints() {
    let (fake, mut watcher) = with_gateway().await;
    fake.state().mute.extend(["services".to_owned(), "endpointslices".to_owned()]);
    fake.put(service("a"));
    fake.put(slice("a"));
    fake.put(route("r", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    let changes = ["Service/default/a", "EndpointSlice/default/a-1", "HTTPRoute/default/r"];
    let mut of_others = watcher.changes.clone();
    assert_eq!(of_others.pop().as_deref(), Some(changes[2]));
    of_others.sort();
    assert_eq!(of_others, ["EndpointSlice/default/a-1", "Service/default/a"]);
}

#[tokio::test(start_paused = true)]
async fn the_reads_go_on_to_what_was_read() {
    let fake = Fake::new();
    let mut watcher = Watcher::synced(&fake).await;
    fake.state().mute.extend(["gateways", "gatewayclasses", "namespaces"].map(str::to_owned));
    fake.put(namespace("default"));
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    fake.put(route("r", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    assert!(watcher.has(&key(Kind::Gateway, "web")));
    assert!(watcher.has(&key(Kind::GatewayClass, "portcullis")));
    assert!(watcher.has(&key(Kind::Namespace, "default")));
}

#[tokio::test(start_paused = true)]
async fn what_refers_to_nothing_waits_for_the_answer_alone() {
    let (fake, mut watcher) = with_gateway().await;
    let begin = Instant::now();
    fake.put(route("r", "missing"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    assert!(begin.elapsed() < Duration::from_millis(5), "{:?}", begin.elapsed());
    // Another version with the same reference is not asked about again.
    fake.state().requests.clear();
    let mut labelled = route("r", "missing");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    fake.put(labelled);
    watcher.changes.clear();
    watcher.until(|watcher| !watcher.changes.is_empty()).await;
    assert_eq!(fake.state().requests, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_route_is_held_back_for_half_a_second_at_most_and_others_pass() {
    let (fake, mut watcher) = with_gateway().await;
    fake.put(service("a"));
    fake.put(slice("a"));
    watcher.until(|watcher| watcher.has(&key(Kind::EndpointSlice, "a-1"))).await;
    fake.state().slow.insert("/api/v1/namespaces/default/services/b".to_owned());
    let begin = Instant::now();
    fake.put(route("held", "b"));
    fake.put(route("free", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "free"))).await;
    assert!(!watcher.has(&key(Kind::HttpRoute, "held")));
    // A newer version takes the place of the one that is held back.
    let mut newer = route("held", "b");
    newer["spec"]["hostnames"] = json!(["newer.example"]);
    fake.put(newer);
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "held"))).await;
    assert_eq!(begin.elapsed().as_millis(), 500);
    let Some(Object::HttpRoute(held)) = watcher.store.get(&key(Kind::HttpRoute, "held")) else { panic!() };
    assert_eq!(held.spec.hostnames.len(), 1);
    assert_eq!(watcher.changes.iter().filter(|change| *change == "HTTPRoute/default/held").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_is_not_overwritten_by_older_events() {
    let (fake, mut watcher) = with_gateway().await;
    fake.state().mute.insert("services".to_owned());
    let mut old = service("a");
    old["metadata"]["labels"] = json!({"age": "old"});
    fake.put(old);
    let mut new = service("a");
    new["metadata"]["labels"] = json!({"age": "new"});
    fake.put(new);
    fake.put(route("r", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    watcher.changes.clear();
    fake.unmute("services");
    watcher.for_a_while(Duration::from_secs(1)).await;
    assert_eq!(watcher.changes, Vec::<String>::new(), "the watch tells nothing new");
    let labels = watcher.store.get(&key(Kind::Service, "a")).unwrap().metadata().labels.clone().unwrap();
    assert_eq!(labels["age"], "new");
}

#[tokio::test(start_paused = true)]
async fn a_route_to_another_namespace_waits_for_the_grants_there() {
    let (fake, mut watcher) = with_gateway().await;
    fake.state().mute.insert("referencegrants".to_owned());
    fake.put(json!({"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": {"name": "g", "namespace": "other"},
        "spec": {"from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "default"}],
            "to": [{"group": "", "kind": "Service"}]}}));
    let mut across = route("r", "a");
    across["spec"]["rules"][0]["backendRefs"][0]["namespace"] = json!("other");
    fake.put(across);
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    assert_eq!(watcher.store.list(Kind::ReferenceGrant).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_goes_no_earlier_than_the_route_turns_from_it() {
    let (fake, mut watcher) = with_gateway().await;
    for name in ["a", "b"] {
        fake.put(service(name));
        fake.put(slice(name));
    }
    fake.put(route("r", "a"));
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "r"))).await;
    watcher.changes.clear();
    fake.state().mute.insert("httproutes".to_owned());
    fake.put(route("r", "b"));
    fake.delete(&service("a"));
    watcher.until(|watcher| !watcher.has(&key(Kind::Service, "a"))).await;
    assert_eq!(watcher.changes, ["HTTPRoute/default/r", "-Service/default/a"]);

    // One that still refers to it keeps nothing back, once it has been read again.
    let begin = Instant::now();
    fake.delete(&service("b"));
    watcher.until(|watcher| !watcher.has(&key(Kind::Service, "b"))).await;
    assert!(begin.elapsed() < Duration::from_millis(5), "{:?}", begin.elapsed());

    // Neither does one that cannot be read, for longer than half a second.
    fake.put(service("b"));
    watcher.until(|watcher| watcher.has(&key(Kind::Service, "b"))).await;
    fake.state().slow.insert("/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/r".to_owned());
    let begin = Instant::now();
    fake.delete(&service("b"));
    watcher.until(|watcher| !watcher.has(&key(Kind::Service, "b"))).await;
    assert_eq!(begin.elapsed().as_millis(), 500);
}
