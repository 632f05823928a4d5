//! What a change costs, with many objects around it.

use std::time::Duration;

use portcullis_api::Object;
use portcullis_api::header::HeaderValue;
use portcullis_api::hostname::Hostname;
use portcullis_api::http_route::HttpRoute;
use portcullis_api::k8s_openapi::api::core::v1::Service;
use portcullis_api::k8s_openapi::api::discovery::v1::EndpointSlice;
use portcullis_api::names::ObjectName;
use portcullis_resolve::{Engine, Resolver};
use portcullis_store::{Change, Store};
use serde_json::json;

use crate::given;

const ROUTES: usize = 10_000;
/// Edits over which a cost is averaged.
const EDITS: usize = 20;

/// A route, with a Service of its own and its endpoints, of which the 10,000 are copies.
struct Template {
    route: HttpRoute,
    service: Service,
    slice: EndpointSlice,
}

impl Template {
    fn new() -> Template {
        let matches = json!([{"path": {"value": "/"}, "headers": [{"name": "x", "value": "a"}]}]);
        let rule = json!({"matches": matches, "backendRefs": [{"name": "s", "port": 80}]});
        let route = json!({"HTTPRoute": "r", "parentRefs": [{"name": "gw"}], "rules": [rule]});
        let service = json!({"Service": "s", "ports": [80], "endpoints": ["10.1.0.1:8080"]});
        let objects =
            [route, service].iter().flat_map(|object| given::objects(object).unwrap()).collect::<Vec<_>>();
        let [Object::HttpRoute(route), Object::Service(service), Object::EndpointSlice(slice)] = &objects[..]
        else {
            panic!("{objects:?}")
        };
        Template { route: (**route).clone(), service: (**service).clone(), slice: (**slice).clone() }
    }

    fn route(&self, index: usize, header: &str) -> Change {
        let mut route = self.route.clone();
        route.metadata.name = Some(format!("r{index}"));
        route.spec.hostnames = vec![Hostname::new(format!("h{}.example.com", index % 1000)).unwrap()];
        let rule = &mut route.spec.rules[0];
        rule.matches[0].path.value = format!("/{index}").into();
        rule.matches[0].headers[0].value = HeaderValue::new(header).unwrap();
        rule.backend_refs[0].name = ObjectName::new(format!("s{index}")).unwrap();
        Change::Put(route.into())
    }

    fn all(&self, index: usize) -> [Change; 3] {
        let (mut service, mut slice) = (self.service.clone(), self.slice.clone());
        let name = format!("s{index}");
        service.metadata.name = Some(name.clone());
        slice.metadata.name = Some(format!("{name}-1"));
        slice.metadata.labels = Some([("kubernetes.io/service-name".to_owned(), name)].into());
        [Change::Put(service.into()), Change::Put(slice.into()), self.route(index, "a")]
    }
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
    let template = Template::new();
    changes.extend((0..ROUTES).flat_map(|index| template.all(index)));
    store.apply(changes);
    let started = cpu_time();
    let mut resolver = Resolver::new(Engine::native_from_files().assuming_bound(), &store);
    println!("{ROUTES} routes from nothing: {:?}", cpu_time() - started);
    let runs = resolver.runs();
    let mut time = Duration::ZERO;
    for edit in 0..EDITS {
        let change = store.apply([template.route(edit * 37, &format!("b{edit}"))]);
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
