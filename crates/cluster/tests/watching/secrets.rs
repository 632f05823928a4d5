//! Of Secrets, only those that some object refers to are read and kept.

use crate::fake::Fake;
use crate::objects::{class, gateway, secret};
use crate::watcher::{Watcher, key};
use portcullis_api::{Kind, Object, ObjectKey};
use std::time::Duration;

fn content(watcher: &Watcher, key: &ObjectKey) -> Option<Vec<u8>> {
    match watcher.store.get(key) {
        Some(Object::Secret(secret)) => secret.get("tls.crt").map(<[u8]>::to_vec),
        _ => None,
    }
}

fn reads_of_secrets(fake: &Fake) -> Vec<String> {
    fake.state().requests.iter().filter(|path| path.contains("/secrets/")).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn only_what_is_referred_to_is_read() {
    let fake = Fake::new();
    fake.put(class());
    for name in ["a", "b", "unrelated"] {
        fake.put(secret(name, "b25l"));
    }
    fake.put(gateway("web", 443, &["a"]));
    fake.put(gateway("other", 444, &["a"]));
    let mut watcher = Watcher::synced(&fake).await;
    let (a, b) = (key(Kind::Secret, "a"), key(Kind::Secret, "b"));
    assert_eq!(content(&watcher, &a).as_deref(), Some(b"one".as_slice()), "it is there from the first batch");
    assert_eq!(reads_of_secrets(&fake), ["/api/v1/namespaces/default/secrets/a"]);

    // A change is read, also one that nobody refers to is not.
    fake.put(secret("unrelated", "dHdv"));
    fake.put(secret("a", "dHdv"));
    watcher.until(|watcher| content(watcher, &a).as_deref() == Some(b"two")).await;
    assert_eq!(reads_of_secrets(&fake).len(), 2);

    // The Gateway turns to another: it comes with its Secret, and the old one stays while `other` has it.
    fake.put(gateway("web", 443, &["b"]));
    watcher.changes.clear();
    watcher.until(|watcher| watcher.has(&b)).await;
    watcher.for_a_while(Duration::from_secs(1)).await;
    assert_eq!(watcher.changes, ["Secret/default/b", "Gateway/default/web"]);
    fake.delete(&gateway("other", 444, &[]));
    watcher.until(|watcher| !watcher.has(&a)).await;
    assert!(watcher.has(&b));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_comes_later_is_read_then() {
    let fake = Fake::new();
    fake.put(class());
    fake.put(gateway("web", 443, &["late"]));
    let mut watcher = Watcher::synced(&fake).await;
    let late = key(Kind::Secret, "late");
    assert!(!watcher.has(&late));
    fake.put(secret("late", "b25l"));
    watcher.until(|watcher| watcher.has(&late)).await;
    fake.delete(&secret("late", ""));
    watcher.until(|watcher| !watcher.has(&late)).await;
    fake.put(secret("late", "dHdv"));
    watcher.until(|watcher| content(watcher, &late).as_deref() == Some(b"two")).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_comes_while_it_is_looked_for_is_read() {
    let fake = Fake::new();
    fake.put(class());
    let mut watcher = Watcher::synced(&fake).await;
    fake.state().slow.insert("/api/v1/namespaces/default/secrets/late".to_owned());
    fake.put(gateway("web", 443, &["late"]));
    watcher.for_a_while(Duration::from_millis(100)).await;
    fake.put(secret("late", "b25l"));
    watcher.until(|watcher| watcher.has(&key(Kind::Secret, "late"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_watch_misses_no_change_of_a_secret() {
    let fake = Fake::new();
    fake.put(class());
    fake.put(secret("a", "b25l"));
    fake.put(secret("b", "b25l"));
    fake.put(gateway("web", 443, &["a", "b"]));
    let mut watcher = Watcher::synced(&fake).await;
    fake.set_down(true);
    fake.put(secret("a", "dHdv"));
    fake.delete(&secret("b", ""));
    fake.compact();
    fake.set_down(false);
    let (a, b) = (key(Kind::Secret, "a"), key(Kind::Secret, "b"));
    watcher.until(|watcher| !watcher.has(&b) && content(watcher, &a).as_deref() == Some(b"two")).await;
}
