//! What a change costs, with many objects around it.

use std::time::Instant;

use portcullis_api::{Object, admit};
use portcullis_resolve::{Engine, Resolver};
use portcullis_store::{Change, Store};
use serde_json::json;

use crate::given;

const ROUTES: usize = 10_000;

fn route(index: usize, header: &str) -> Object {
    let object = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"namespace": "default", "name": format!("r{index}")},
        "spec": {
            "parentRefs": [{"name": "gw"}],
            "hostnames": [format!("h{}.example.com", index % 1000)],
            "rules": [{
                "matches": [{"path": {"value": format!("/{index}")}, "headers": [{"name": "x", "value": header}]}],
                "backendRefs": [{"name": format!("s{index}"), "port": 80}],
            }],
        },
    });
    admit(object).object.expect("admitted")
}

/// One route's change among 10,000, each with a Service of its own. The time is printed, not judged: it depends on
/// the machine and the profile.
#[test]
fn a_route_among_ten_thousand() {
    let mut store = Store::new();
    store.apply(given::defaults());
    let gateway = json!({"Gateway": "gw", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]});
    let mut changes: Vec<Change> = given::objects(&gateway).unwrap().into_iter().map(Change::Put).collect();
    for index in 0..ROUTES {
        let service = json!({"Service": format!("s{index}"), "ports": [80], "endpoints": ["10.1.0.1:8080"]});
        changes.extend(given::objects(&service).unwrap().into_iter().map(Change::Put));
        changes.push(Change::Put(route(index, "a")));
    }
    store.apply(changes);
    let started = Instant::now();
    let mut resolver = Resolver::new(Engine::native_from_files().assuming_bound(), &store);
    println!("{ROUTES} routes from nothing: {:?}", started.elapsed());
    let runs = resolver.runs();
    const EDITS: usize = 20;
    let mut time = std::time::Duration::ZERO;
    for edit in 0..EDITS {
        let change = store.apply([Change::Put(route(edit * 37, &format!("b{edit}")))]);
        let held = std::sync::Arc::clone(&resolver.resolved().model); // as an engine holds it
        let started = Instant::now();
        let changed = resolver.update(&store, &change);
        time += started.elapsed();
        drop(held);
        assert!(changed.model);
        assert_eq!(changed.objects.len(), 0, "no status changes");
    }
    println!("one route of {ROUTES}: {:?} each", time / EDITS as u32);
    let each = (resolver.runs() - runs) / EDITS as u64;
    assert!(each <= 16, "{each} queries run again");
    println!("{each} queries run again");
}
