//! What a change costs, with many objects around it.

use std::time::Duration;

use portcullis_api::{Object, admit};
use portcullis_resolve::{Engine, Resolver};
use portcullis_store::{Change, Store};
use serde_json::json;

use crate::given;

const ROUTES: usize = 10_000;
/// Edits over which a cost is averaged.
const EDITS: usize = 20;

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

/// The time that this thread has spent on a processor: other work on the machine does not count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
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
    let started = cpu_time();
    let mut resolver = Resolver::new(Engine::native_from_files().assuming_bound(), &store);
    println!("{ROUTES} routes from nothing: {:?}", cpu_time() - started);
    let runs = resolver.runs();
    let mut time = Duration::ZERO;
    for edit in 0..EDITS {
        let change = store.apply([Change::Put(route(edit * 37, &format!("b{edit}")))]);
        let held = std::sync::Arc::clone(&resolver.resolved().model); // as an engine holds it
        let started = cpu_time();
        let changed = resolver.update(&store, &change);
        time += cpu_time() - started;
        drop(held);
        assert!(changed.model);
        assert_eq!(changed.objects.len(), 0, "no status changes");
    }
    println!("one route of {ROUTES}: {:?} each", time / EDITS as u32);
    let each = (resolver.runs() - runs) / EDITS as u64;
    assert!(each <= 14, "{each} queries run again");
    println!("{each} queries run again");
}

const SETS: usize = 2_500;

/// One ListenerSet's change among 2,500 of a Gateway, all on one port, each with a hostname of its own.
#[test]
fn a_listener_set_among_2500() {
    let set = |index: usize, hostname: &str| {
        let listener = json!({"name": "web", "port": 80, "protocol": "HTTP", "hostname": hostname});
        let set =
            json!({"ListenerSet": format!("s{index}"), "parentRef": {"name": "gw"}, "listeners": [listener]});
        given::objects(&set).unwrap().into_iter().map(Change::Put).collect::<Vec<_>>()
    };
    let mut store = Store::new();
    store.apply(given::defaults());
    let listener = json!({"name": "web", "port": 80, "protocol": "HTTP", "hostname": "gw.test"});
    let allowed = json!({"namespaces": {"from": "All"}});
    let gateway = json!({"Gateway": "gw", "listeners": [listener], "allowedListeners": allowed});
    store.apply(given::objects(&gateway).unwrap().into_iter().map(Change::Put));
    store.apply((0..SETS).flat_map(|index| set(index, &format!("h{index}.test"))));
    let started = cpu_time();
    let mut resolver = Resolver::new(Engine::native_from_files().assuming_bound(), &store);
    println!("{SETS} ListenerSets from nothing: {:?}", cpu_time() - started);
    let (runs, started) = (resolver.runs(), cpu_time());
    for edit in 0..EDITS {
        let change = store.apply(set(edit * 37, &format!("x{edit}.test")));
        let changed = resolver.update(&store, &change);
        assert!(changed.model);
        assert_eq!(changed.objects.len(), 0, "no status changes");
    }
    println!("one ListenerSet of {SETS}: {:?} each", (cpu_time() - started) / EDITS as u32);
    let each = (resolver.runs() - runs) / EDITS as u64;
    println!("{each} queries run again");
    assert!(each <= 24, "{each} queries run again");
}
