//! API servers go away, forget, and refuse.

use crate::fake::Fake;
use crate::objects::{class, gateway, route, service, slice};
use crate::watcher::{Watcher, key};
use portcullis_api::Kind;
use portcullis_cluster::{Problem, Subject};
use std::time::Duration;

fn filled() -> Fake {
    let fake = Fake::new();
    fake.put(class());
    fake.put(gateway("web", 80, &[]));
    fake.put(service("a"));
    fake.put(slice("a"));
    for name in ["one", "two", "three"] {
        fake.put(route(name, "a"));
    }
    fake
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_only_what_differs_is_handed_on() {
    for is_compacted in [false, true] {
        let fake = filled();
        let mut watcher = Watcher::synced(&fake).await;
        fake.set_down(true);
        watcher.for_a_while(Duration::from_secs(120)).await;
        assert_eq!(watcher.changes, Vec::<String>::new(), "what is known stays");

        fake.delete(&route("one", "a"));
        fake.put(route("two", "b"));
        fake.put(route("four", "a"));
        if is_compacted {
            fake.compact();
        }
        fake.set_down(false);
        watcher.for_a_while(Duration::from_secs(60)).await;
        let over = watcher.problems.iter().rev().find(|problem| problem.subject == Subject::Discovery);
        assert_eq!(over.map(|problem| &problem.message), Some(&None));
        watcher.changes.sort();
        let changes = ["-HTTPRoute/default/one", "HTTPRoute/default/four", "HTTPRoute/default/two"];
        assert_eq!(watcher.changes, changes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_we_may_not_read_is_a_problem_until_we_may() {
    let fake = filled();
    fake.state().forbidden.insert("services".to_owned());
    let mut watcher = Watcher::begin(&fake);
    assert!(!watcher.next().await, "without Services nothing is whole");
    let message = "services is forbidden: User \"portcullis\" cannot list it";
    let problem = Problem { subject: Subject::Kind(Kind::Service), message: Some(message.to_owned()) };
    assert_eq!(watcher.problems, [problem]);
    assert_eq!(watcher.changes, Vec::<String>::new());

    fake.state().forbidden.clear();
    watcher.until(|watcher| watcher.has(&key(Kind::Service, "a"))).await;
    let over = Problem { subject: Subject::Kind(Kind::Service), message: None };
    assert_eq!(watcher.problems.last(), Some(&over));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_not_there_yet_is_awaited() {
    let fake = filled();
    fake.set_down(true);
    let mut watcher = Watcher::begin(&fake);
    assert!(!watcher.next().await);
    assert_eq!(watcher.problems[0].subject, Subject::Discovery);
    fake.set_down(false);
    watcher.until(|watcher| watcher.has(&key(Kind::HttpRoute, "one"))).await;
}
