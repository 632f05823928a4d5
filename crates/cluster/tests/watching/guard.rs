//! A malformed object harms itself alone.

use crate::fake::Fake;
use crate::objects::{class, gateway, namespace};
use crate::watcher::{Watcher, key};
use portcullis_api::Kind;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_malformed_object_is_reported_and_the_watch_goes_on() {
    let fake = Fake::new();
    fake.put(namespace("default"));
    fake.put(class());
    let mut malformed = gateway("bad", 80, &[]);
    malformed["spec"] = json!({"listeners": "none", "gatewayClassName": "portcullis"});
    fake.put(malformed.clone());
    let mut watcher = Watcher::synced(&fake).await;
    let (bad, good) = (key(Kind::Gateway, "bad"), key(Kind::Gateway, "good"));
    assert!(watcher.is_refused(&bad) && !watcher.has(&bad));
    let refusal = watcher.store.refused(&bad).unwrap();
    assert!(refusal.diagnostics.iter().any(|found| found.path.to_string() == "spec.listeners"));
    assert_eq!(refusal.written["spec"], malformed["spec"]);
    assert!(watcher.held.contains_key(&bad), "its status is still ours to write");

    fake.put(gateway("good", 80, &[]));
    watcher.until(|watcher| watcher.has(&good)).await;

    fake.put(gateway("bad", 80, &[]));
    watcher.until(|watcher| watcher.has(&bad)).await;
    assert!(!watcher.is_refused(&bad));

    fake.put(malformed.clone());
    watcher.until(|watcher| watcher.is_refused(&bad)).await;
    assert!(!watcher.has(&bad), "nothing is served from what is refused");

    fake.delete(&malformed);
    watcher.until(|watcher| !watcher.is_refused(&bad)).await;
    assert!(!watcher.held.contains_key(&bad));
}

#[tokio::test(start_paused = true)]
async fn metadata_of_any_form_does_not_end_a_watch() {
    let fake = Fake::new();
    fake.put(class());
    let mut watcher = Watcher::synced(&fake).await;
    let mut strange = gateway("strange", 80, &[]);
    strange["metadata"]["labels"] = json!(["no", "map"]);
    fake.put(strange);
    fake.put(gateway("good", 80, &[]));
    watcher.until(|watcher| watcher.has(&key(Kind::Gateway, "good"))).await;
    watcher.until(|watcher| watcher.is_refused(&key(Kind::Gateway, "strange"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_status_alone_is_no_change_to_the_store() {
    let fake = Fake::new();
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    let mut watcher = Watcher::synced(&fake).await;
    let web = key(Kind::Gateway, "web");
    let mut with_status = gateway("web", 80, &[]);
    with_status["status"] = json!({"conditions": []});
    fake.put(with_status);
    watcher.until(|watcher| watcher.held[&web].status.is_some()).await;
    assert_eq!(watcher.held[&web].status.as_deref(), Some(&json!({"conditions": []})));
    assert_eq!(watcher.changes, Vec::<String>::new());
}
