//! GRPCRoutes: GRPCRouteRule.matches, and which of them and the HTTPRoutes a request meets.

use std::cmp::Reverse;
use std::sync::Arc;

use portcullis_model::{Age, CallMatch, HostPattern, HostRank, Listener, Match, PathMatch, Route};
use portcullis_routing::{Criterion, ListenerTable, PortTable, Verdict};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::build::{
    With, aged_route, ask_with, listener_of, port, prefix, route, table, value, with_request,
};
use crate::generate::cases;
use crate::oracle::host_fits;

/// Empty names are any; `~` before one makes it a regular expression.
fn call(service: &str, method: &str) -> Match {
    let name = |name: &str| (!name.is_empty()).then(|| value(name));
    let path = PathMatch::Call(CallMatch { service: name(service), method: name(method) });
    Match { path, method: None, headers: vec![], query: vec![] }
}

fn listener(http: Vec<Route>, grpc: Vec<Route>) -> Arc<Listener> {
    let shared = |routes: Vec<Route>| routes.into_iter().map(Arc::new).collect();
    let listener = listener_of("web", portcullis_model::ListenerProtocol::Http, "", shared(http));
    Arc::new(Listener { grpc_routes: shared(grpc), ..Arc::unwrap_or_clone(listener) })
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// Which rule takes a call, as `route rule.match`.
fn ask(listener: &Arc<Listener>, path: &str) -> Option<String> {
    ask_with(listener, &format!("POST h{path}"), &[GRPC])
}

/// Each rule of a list takes the call; the one that has to win is last.
fn wins(matches: Vec<Match>, path: &str) {
    let last = matches.len() - 1;
    let route = route("r", &[], matches.into_iter().map(|one| vec![one]).collect());
    assert_eq!(ask(&listener(vec![], vec![route]), path), Some(format!("r {last}.0")));
}

#[test]
fn service_then_method_then_headers() {
    wins(vec![call("", ""), call("", "Get"), call("a.C", ""), call("a.C", "Get")], "/a.C/Get");
    wins(vec![call("", "GetEverything"), call("a", "")], "/a/GetEverything");
    wins(vec![call("a", ""), call("a", "").header("content-type", "~.*")], "/a/Get");
    // a regular expression counts by its own characters
    wins(vec![call("~a.", "Get"), call("abc", ""), call("~a[b]c", "")], "/abc/Get");
}

#[test]
fn a_call_that_no_rule_takes_meets_none() {
    let listener = listener(vec![], vec![route("r", &[], vec![vec![call("a.C", "Get")]])]);
    for path in ["/a.C/Put", "/a.D/Get", "/a.C", "/a.C/Get/x", "/"] {
        assert_eq!(ask(&listener, path), None, "{path}");
    }
}

/// GRPCMethodMatch, type Exact: the whole name, of service and method, and no name that only begins or ends alike.
#[test]
fn names_are_compared_whole() {
    let only = |matched| listener(vec![], vec![route("r", &[], vec![vec![matched]])]);
    for (matched, fits, misses) in [
        (call("a.Echo", "Echo"), "/a.Echo/Echo", ["/a.Echo/EchoTwo", "/a.Echo/EchoThree", "/a.Echo/MyEcho"]),
        (call("a.Echo", "Echo"), "/a.Echo/Echo", ["/a.Echo2/Echo", "/b.a.Echo/Echo", "/a.Echo/echo"]),
        (call("", "Echo"), "/x.Y/Echo", ["/x.Y/EchoTwo", "/Echo/x", "/x.Y/Echo/"]),
        (call("a.Echo", ""), "/a.Echo/Any", ["/a.EchoTwo/Any", "/a/Echo", "/A.Echo/Any"]),
        (call("~a.Echo", "~Echo"), "/a.Echo/Echo", ["/a.EchoTwo/Echo", "/a.Echo/EchoTwo", "/xa.Echo/Echo"]),
    ] {
        let listener = only(matched);
        assert_eq!(ask(&listener, fits).as_deref(), Some("r 0.0"), "{fits}");
        for path in misses {
            assert_eq!(ask(&listener, path), None, "{path}");
        }
    }
}

/// GRPCRouteMatch: what names no method takes every method, with the headers that it asks for.
#[test]
fn headers_alone_match_every_method() {
    let matched = call("", "").header("x-version", "2");
    let listener = listener(vec![], vec![route("r", &[], vec![vec![matched]])]);
    for path in ["/a.B/C", "/d.E/F"] {
        let asked = |value| ask_with(&listener, &format!("POST h{path}"), &[GRPC, ("x-version", value)]);
        assert_eq!((asked("2").as_deref(), asked("1")), (Some("r 0.0"), None), "{path}");
        assert_eq!(ask(&listener, path), None, "{path}");
    }
}

/// They are never merged: calls try GRPCRoutes first, then HTTPRoutes; other requests see HTTPRoutes alone.
#[test]
fn calls_try_grpc_routes_before_http_routes() {
    let http = || route("http", &[], vec![vec![prefix("/a/Get").header("content-type", "~.*")]]);
    let grpc = || route("grpc", &[], vec![vec![call("", "Get")]]);
    let both = listener(vec![http()], vec![grpc()]);
    assert_eq!(ask(&both, "/a/Get").as_deref(), Some("grpc 0.0"));
    for kind in ["application/grpc+proto", "Application/gRPC", "application/grpc-web"] {
        let asked = ask_with(&both, "POST h/a/Get", &[("content-type", kind)]);
        assert_eq!(asked.as_deref(), Some("grpc 0.0"), "{kind}");
    }
    let json = [("content-type", "application/json")];
    assert_eq!(ask_with(&both, "POST h/a/Get", &json).as_deref(), Some("http 0.0"));
    let other = listener(vec![http()], vec![route("grpc", &[], vec![vec![call("", "Put")]])]);
    assert_eq!(ask(&other, "/a/Get").as_deref(), Some("http 0.0"));
    assert_eq!(ask_with(&listener(vec![], vec![grpc()]), "POST h/a/Get", &json), None);
}

/// Even under a less specific hostname a GRPCRoute comes first, and the trace says why.
#[test]
fn the_kind_decides_before_the_hostname() {
    let http = route("http", &["h"], vec![vec![prefix("/")]]);
    let listener = listener(vec![http], vec![route("grpc", &[], vec![vec![call("", "")]])]);
    let table = table(&listener);
    with_request("POST h/a/Get", &[GRPC], |request| {
        let verdicts: Vec<_> = table.lookup_traced(request).tried.iter().map(|tried| tried.verdict).collect();
        assert_eq!(verdicts, [Verdict::Won, Verdict::Lost(Criterion::Kind)]);
    });
}

/// A call in canonical form.
#[derive(Clone, Debug)]
struct Asked {
    host: &'static str,
    service: &'static str,
    method: &'static str,
    x: Option<&'static str>,
}

/// The greater wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    host: HostRank,
    service: usize,
    method: usize,
    headers: usize,
    age: Reverse<Age>,
    name: Reverse<String>,
    rule: Reverse<usize>,
    matched: Reverse<usize>,
}

/// The match that takes a call: every one is compared, and the greatest of those that fit wins.
fn best(listener: &Listener, asked: &Asked) -> Option<String> {
    let mut fitting = Vec::new();
    for route in &listener.grpc_routes {
        let hosts = route.hostnames.iter().filter(|pattern| host_fits(pattern, asked.host));
        let Some(host) = hosts.map(HostPattern::rank).max() else { continue };
        for rule in &route.rules {
            for (index, matched) in rule.matches.iter().enumerate().filter(|(_, one)| fits(one, asked)) {
                let PathMatch::Call(call) = &matched.path else { panic!("no call") };
                let characters = |name: &Option<portcullis_model::ValueMatch>| {
                    name.as_ref().map_or(0, |name| name.as_str().len())
                };
                fitting.push(Rank {
                    host,
                    service: characters(&call.service),
                    method: characters(&call.method),
                    headers: matched.headers.len(),
                    age: Reverse(route.age),
                    name: Reverse(format!("{}/{}", route.origin.namespace, route.origin.name)),
                    rule: Reverse(rule.id.index),
                    matched: Reverse(index),
                });
            }
        }
    }
    let best = fitting.into_iter().max()?;
    Some(format!("{} {}.{}", best.name.0, best.rule.0, best.matched.0))
}

fn fits(matched: &Match, asked: &Asked) -> bool {
    let PathMatch::Call(call) = &matched.path else { return false };
    let name = |wanted: &Option<portcullis_model::ValueMatch>, name: &str| match wanted {
        None => true,
        Some(portcullis_model::ValueMatch::Exact(text)) => **text == *name,
        Some(portcullis_model::ValueMatch::Regex(pattern)) => pattern.matches(name.as_bytes()),
    };
    let header = |value: Option<&str>, wanted: &portcullis_model::HeaderMatch| {
        value.is_some_and(|value| name(&Some(wanted.value.clone()), value))
    };
    name(&call.service, asked.service)
        && name(&call.method, asked.method)
        && matched.headers.iter().all(|wanted| header(asked.x, wanted))
}

fn found(table: &ListenerTable<()>, asked: &Asked) -> Option<String> {
    let mut fields = vec![GRPC];
    fields.extend(asked.x.map(|x| ("x", x)));
    with_request(&format!("POST {}/{}/{}", asked.host, asked.service, asked.method), &fields, |request| {
        let traced = table.lookup_traced(request);
        let won = traced.tried.iter().filter(|tried| tried.verdict == Verdict::Won).count();
        assert_eq!(won, usize::from(traced.matched.is_some()));
        table.lookup(request).map(|found| {
            let rule = &found.entry().rule().id;
            let name = format!("{}/{}", rule.route.namespace, rule.route.name);
            format!("{name} {}.{}", rule.index, found.match_index())
        })
    })
}

fn arb_match() -> impl Strategy<Value = Match> {
    let service = select(&["", "", "a", "a.b", "c", "~a.*", "~[ac]", "~.*b"][..]);
    let method = select(&["", "", "x", "xy", "~x.*", "~[x-z]+"][..]);
    let header = option::weighted(0.3, select(&["1", "~[12]"][..]));
    (service, method, header).prop_map(|(service, method, header)| match header {
        Some(value) => call(service, method).header("x", value),
        None => call(service, method),
    })
}

fn arb_route(number: usize) -> impl Strategy<Value = Arc<Route>> {
    let host = select(&["", "*.b", "a.b", "b"][..]);
    let age = prop_oneof![Just(Age::UNKNOWN), (1..3_i64).prop_map(Age::created_at)];
    let name = select(&["m/b", "m/a", "n/a"][..]);
    (name, age, vec(host, 0..3), vec(vec(arb_match(), 1..3), 1..4)).prop_map(
        move |(name, age, hosts, rules)| Arc::new(aged_route(&format!("{name}{number}"), age, &hosts, rules)),
    )
}

fn arb_routes() -> impl Strategy<Value = Vec<Arc<Route>>> {
    (0..8_usize).prop_flat_map(|count| (0..count).map(arb_route).collect::<Vec<_>>())
}

fn arb_call() -> impl Strategy<Value = Asked> {
    let host = select(&["a.b", "x.b", "b", "other"][..]);
    let service = select(&["a", "a.b", "c", "d"][..]);
    let x = option::of(select(&["1", "2"][..]));
    (host, service, select(&["x", "xy", "z", "w"][..]), x).prop_map(|(host, service, method, x)| Asked {
        host,
        service,
        method,
        x,
    })
}

proptest! {
    #![proptest_config(cases(400))]

    /// The table's answer is the oracle's, for any rules and any call; that of a successor, too.
    #[test]
    fn lookup_agrees_with_the_oracle(
        before in arb_routes(),
        after in arb_routes(),
        kept in any::<u8>(),
        calls in vec(arb_call(), 20),
    ) {
        let of = |routes: Vec<Arc<Route>>| {
            Arc::new(Listener { grpc_routes: routes, ..Arc::unwrap_or_clone(listener(vec![], vec![])) })
        };
        let keeps = |(index, _): &(usize, &Arc<Route>)| kept & (1 << index) != 0;
        let some: Vec<_> = before.iter().enumerate().filter(keeps).map(|(_, route)| Arc::clone(route)).collect();
        let (old, new) = (of(before), of(some.into_iter().chain(after).collect()));
        let first = PortTable::build(&port(vec![Arc::clone(&old)]), |_, _, _| ());
        let second = first.update(&port(vec![Arc::clone(&new)]), |_, _, _| ());
        for asked in &calls {
            prop_assert_eq!(found(&first.listeners()[0], asked), best(&old, asked), "{:?}", asked);
            prop_assert_eq!(found(&second.listeners()[0], asked), best(&new, asked), "{:?}", asked);
        }
    }
}
