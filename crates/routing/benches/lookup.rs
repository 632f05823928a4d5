//! What a lookup costs: `cargo bench -p portcullis-routing`. Nanoseconds for a request, the best of several
//! rounds over requests in random order.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark's inputs are its own")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use portcullis_model::{
    Action, Age, Failure, FailureReason, HeaderName, HeaderValue, HostPattern, Listener, ListenerFilters,
    ListenerId, ListenerProtocol, Match, Origin, PathMatch, Pattern, Port, Route, Rule, RuleId, Timeouts,
};
use portcullis_routing::{Authority, PortTable, Request, Scheme, canonical_path};

const ROUNDS: usize = 15;
const REQUESTS: usize = 20_000;

fn main() {
    println!("{:<34} {:>10} {:>12} {:>12}", "rules", "ns/request", "update µs", "build ms");
    for count in [1, 100, 1_000, 10_000] {
        run(&format!("{count} prefixes, one host"), &prefixes(count), |number| {
            ("a.example.com".to_owned(), format!("/api/v1/service{number}/items/{number}"))
        });
    }
    for count in [1, 100, 1_000, 10_000] {
        run(&format!("{count} exact paths, one host"), &exacts(count), |number| {
            ("a.example.com".to_owned(), format!("/api/v1/service{number}"))
        });
    }
    for count in [1, 100, 1_000, 10_000] {
        run(&format!("{count} hosts"), &hosts(count, ""), |number| {
            (format!("host{number}.example.com"), "/index.html".to_owned())
        });
    }
    run("10000 wildcard hosts", &hosts(10_000, "*."), |number| {
        (format!("www.host{number}.example.com"), "/index.html".to_owned())
    });
    for count in [1, 100, 1_000] {
        run(&format!("{count} patterns, own literals"), &patterns(count, "/service{}/[0-9]+"), |number| {
            ("a.example.com".to_owned(), format!("/service{number}/42"))
        });
        run(&format!("{count} patterns, one literal"), &patterns(count, "/users/[0-9]+/x{}"), |number| {
            ("a.example.com".to_owned(), format!("/users/42/x{number}"))
        });
        run(&format!("{count} patterns, no literal"), &patterns(count, "/[a-z]+{}/[0-9]+"), |number| {
            ("a.example.com".to_owned(), format!("/service{number}/42"))
        });
    }
}

/// Measures requests made from random numbers below the routes' count, which all find their rule.
fn run(name: &str, routes: &[Arc<Route>], request: impl Fn(usize) -> (String, String)) {
    let started = Instant::now();
    let table = PortTable::build(&port(routes.to_vec()), |_, _, _| ());
    let built = started.elapsed().as_secs_f64() * 1e3;
    let mut seed = 1_u64;
    let asked: Vec<_> = (0..REQUESTS).map(|_| request(random(&mut seed) % routes.len())).collect();
    let round = || {
        let started = Instant::now();
        let found = asked.iter().filter(|(host, path)| black_box(take(&table, host, path))).count();
        assert_eq!(found, asked.len());
        started.elapsed().as_secs_f64() * 1e9 / asked.len() as f64
    };
    let best = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
    println!("{name:<34} {best:>10.1} {:>12.1} {built:>12.2}", update(&table, routes));
}

/// What a proxy does with each request, from its raw host and path.
fn take(table: &PortTable<()>, host: &str, path: &str) -> bool {
    let authority = Authority::parse(host).unwrap();
    let path = canonical_path(path).unwrap();
    let headers: &[(HeaderName, HeaderValue)] = &[];
    let request = Request::new(&authority.host, &path, "", "GET", headers);
    let listener = table.listener_for_host(Scheme::Http, &authority.host).unwrap();
    listener.lookup(&request).is_some()
}

/// Microseconds to follow the change of one route, the mean of many.
fn update(table: &PortTable<()>, routes: &[Arc<Route>]) -> f64 {
    let mut seed = 7;
    let changed = |seed: &mut u64| {
        let mut routes = routes.to_vec();
        let at = random(seed) % routes.len();
        routes[at] = Arc::new(Route::clone(&routes[at]));
        port(routes)
    };
    let ports: Vec<_> = (0..50).map(|_| changed(&mut seed)).collect();
    let started = Instant::now();
    for port in &ports {
        black_box(table.update(port, |_, _, _| ()));
    }
    started.elapsed().as_secs_f64() * 1e6 / ports.len() as f64
}

/// A linear congruential generator (Knuth's MMIX), its high bits.
fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).unwrap()
}

fn prefixes(count: usize) -> Vec<Arc<Route>> {
    let path = |number| PathMatch::Prefix(format!("/api/v1/service{number}").into());
    (0..count).map(|number| route(number, "a.example.com", path(number))).collect()
}

fn exacts(count: usize) -> Vec<Arc<Route>> {
    let path = |number| PathMatch::Exact(format!("/api/v1/service{number}").into());
    (0..count).map(|number| route(number, "a.example.com", path(number))).collect()
}

fn hosts(count: usize, wildcard: &str) -> Vec<Arc<Route>> {
    let host = |number| format!("{wildcard}host{number}.example.com");
    (0..count).map(|number| route(number, &host(number), PathMatch::Prefix("".into()))).collect()
}

fn patterns(count: usize, text: &str) -> Vec<Arc<Route>> {
    let pattern = |number: usize| Pattern::new(&text.replace("{}", &number.to_string())).unwrap();
    (0..count).map(|number| route(number, "a.example.com", PathMatch::Regex(pattern(number)))).collect()
}

fn route(number: usize, host: &str, path: PathMatch) -> Arc<Route> {
    let name = format!("route-{number}");
    let origin = Origin { kind: "HTTPRoute".into(), namespace: "default".into(), name: name.into() };
    let fail = Failure { status: 500, reason: FailureReason::NoBackends, message: "".into() };
    let rule = Rule {
        id: RuleId { route: origin.clone(), index: 0, name: None },
        matches: vec![Match { path, method: None, headers: vec![], query: vec![] }],
        filters: vec![],
        action: Action::Fail(fail),
        timeouts: Timeouts::default(),
        retry: None,
    };
    let hostnames = vec![HostPattern::parse(host)];
    Arc::new(Route { origin, age: Age::UNKNOWN, hostnames, rules: vec![Arc::new(rule)] })
}

fn port(routes: Vec<Arc<Route>>) -> Port {
    let gateway = Origin { kind: "Gateway".into(), namespace: "default".into(), name: "gw".into() };
    let id = ListenerId { gateway: gateway.clone(), owner: gateway, name: "web".into() };
    let hostname = HostPattern::Any;
    Port {
        listeners: vec![Arc::new(Listener {
            id,
            port: 80,
            hostname,
            protocol: ListenerProtocol::Http,
            filters: ListenerFilters::default(),
            client_certificate: None,
            routes,
            grpc_routes: vec![],
        })],
    }
}
