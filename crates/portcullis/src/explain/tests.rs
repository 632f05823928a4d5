//! Answers about hand-built models.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use portcullis_model::{
    Action, Age, AuthProtocol, BindAddress, Certificate, Cluster, ClusterKey, Cors, Endpoint,
    EndpointAddress, EndpointState, Endpoints, EndpointsKey, ExternalAuth, Failure, FailureReason, Filter,
    Forward, HeaderMatch, HeaderModifier, HeaderName, HeaderValue, HostPattern, Hostname, Listed, Listener,
    ListenerFilters, ListenerId, ListenerProtocol, Locality, Match, Model, Origin, OriginPattern, Origins,
    PathMatch, PathRewrite, Port, Redirect, ReplacementPath, RewriteUrl, Route, Rule, RuleId, Target,
    Timeouts, TlsOptions, TlsServer, Transport, UpstreamProtocol, ValueMatch, WeightedBackend,
};
use serde_json::{Value, json};

use super::answer::Outcome;
use super::running::heed;
use super::{Question, explain, text};
use crate::render::Paint;

fn origin(kind: &str, name: &str) -> Origin {
    Origin { kind: kind.into(), namespace: "default".into(), name: name.into() }
}

fn prefix(path: &str) -> Match {
    let path = PathMatch::Prefix(path.trim_end_matches('/').into());
    Match { path, method: None, headers: vec![], query: vec![] }
}

fn rule(matched: Match, action: Action) -> Rule {
    let id = RuleId { route: origin("HTTPRoute", ""), index: 0, name: None };
    Rule { id, matches: vec![matched], filters: vec![], action, timeouts: Timeouts::default(), retry: None }
}

fn route(name: &str, hosts: &[&str], rules: Vec<Rule>) -> Arc<Route> {
    let of = origin("HTTPRoute", name);
    let place = |(index, rule): (usize, Rule)| {
        Arc::new(Rule { id: RuleId { route: of.clone(), index, ..rule.id.clone() }, ..rule })
    };
    let hosts: &[&str] = if hosts.is_empty() { &[""] } else { hosts };
    let hostnames = hosts.iter().map(|host| HostPattern::parse(host)).collect();
    let rules = rules.into_iter().enumerate().map(place).collect();
    Arc::new(Route { origin: of, age: Age::UNKNOWN, hostnames, rules })
}

fn listener(
    name: &str,
    port: u16,
    host: &str,
    protocol: ListenerProtocol,
    routes: Vec<Arc<Route>>,
) -> Arc<Listener> {
    let gateway = origin("Gateway", "gw");
    let id = ListenerId { gateway: gateway.clone(), owner: gateway, name: name.into() };
    let hostname = HostPattern::parse(host);
    Arc::new(Listener {
        id,
        port,
        hostname,
        protocol,
        filters: ListenerFilters::default(),
        client_certificate: None,
        routes,
        grpc_routes: Vec::new(),
    })
}

fn cluster(service: &str) -> ClusterKey {
    let endpoints = EndpointsKey { origin: origin("Service", service), port: 80, transport: Transport::Tcp };
    ClusterKey { endpoints, protocol: UpstreamProtocol::Http1 }
}

fn backend(service: &str, weight: u32) -> WeightedBackend {
    let target = Target::Cluster(cluster(service));
    WeightedBackend { origin: origin("Service", service), port: Some(80), weight, target, filters: vec![] }
}

fn to(services: &[(&str, u32)]) -> Action {
    let backends = services.iter().map(|(service, weight)| backend(service, *weight)).collect();
    Action::Forward(Forward { backends })
}

/// Services `a` (one ready, one draining endpoint), `drained` (one draining) and `empty`.
fn model(listeners: Vec<Arc<Listener>>) -> Model {
    let mut model = Model::default();
    let endpoint = |last, state| Endpoint {
        state,
        ..Endpoint::ready(EndpointAddress::Socket((Ipv4Addr::new(10, 0, 0, last), 8080).into()))
    };
    for (service, endpoints) in [
        ("a", vec![endpoint(1, EndpointState::Ready), endpoint(2, EndpointState::Draining)]),
        ("drained", vec![endpoint(3, EndpointState::Draining)]),
        ("empty", vec![]),
    ] {
        let key = cluster(service);
        Arc::make_mut(&mut model.endpoints)
            .insert(key.endpoints.clone(), Arc::new(Endpoints { key: key.endpoints.clone(), endpoints }));
        Arc::make_mut(&mut model.clusters).insert(key.clone(), Arc::new(Cluster { key, tls: None }));
    }
    for listener in listeners {
        let address = BindAddress::tcp(IpAddr::V4(Ipv4Addr::UNSPECIFIED), listener.port);
        let port = model.ports.entry(address).or_insert_with(|| Arc::new(Port { listeners: vec![] }));
        let mut listeners = port.listeners.clone();
        listeners.push(listener);
        *port = Arc::new(Port { listeners });
    }
    model
}

fn ask(model: &Model, url: &str, headers: &[&str]) -> Value {
    let (method, url) = url.split_once(' ').unwrap_or(("GET", url));
    let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
    let answer = explain(model, &Question::new(method, url, &headers).unwrap());
    serde_json::to_value(answer).unwrap()
}

fn clear(routes: Vec<Arc<Route>>) -> Model {
    model(vec![listener("web", 80, "", ListenerProtocol::Http, routes)])
}

#[test]
fn a_forwarded_request_meets_listener_route_filters_and_endpoints() {
    let rewrite = RewriteUrl {
        hostname: Hostname::new("inner.test"),
        path: Some(PathRewrite::Prefix(ReplacementPath::new("/").unwrap())),
    };
    let mut forwarding = rule(prefix("/v1"), to(&[("a", 3), ("empty", 1)]));
    forwarding.filters = vec![Filter::Rewrite(rewrite)];
    forwarding.timeouts.request = Some(std::time::Duration::from_millis(1500));
    let model = clear(vec![route("r", &["a.test"], vec![forwarding, rule(prefix("/"), to(&[("a", 1)]))])]);
    let answer = ask(&model, "http://a.test/v1/x?q=1", &[]);
    assert_eq!(answer["outcome"], "forward");
    assert_eq!(answer.get("status"), None);
    assert_eq!(answer["gateway"], json!({"kind": "Gateway", "namespace": "default", "name": "gw"}));
    assert_eq!(answer["listener"]["name"], "web");
    assert_eq!(answer["route"], json!({"kind": "HTTPRoute", "namespace": "default", "name": "r"}));
    assert_eq!(answer["rule"], json!({"index": 0}));
    assert_eq!(
        answer["match"],
        json!({"index": 0, "hostname": "a.test", "path": {"type": "PathPrefix", "value": "/v1"}})
    );
    assert_eq!(
        answer["filters"],
        json!([{
            "type": "URLRewrite",
            "host": {"before": "a.test", "after": "inner.test"},
            "path": {"before": "/v1/x", "after": "/x"},
        }])
    );
    assert_eq!(answer["timeouts"], json!({"request": "1500ms"}));
    assert_eq!(
        answer["backends"],
        json!([
            {
                "object": {"kind": "Service", "namespace": "default", "name": "a"},
                "port": 80, "weight": 3, "share": 75.0, "filters": [], "host": "inner.test", "path": "/x",
                "endpoints": [
                    {"address": "10.0.0.1:8080", "state": "ready", "used": true},
                    {"address": "10.0.0.2:8080", "state": "draining", "used": false},
                ],
            },
            {
                "object": {"kind": "Service", "namespace": "default", "name": "empty"},
                "port": 80, "weight": 1, "share": 25.0, "filters": [], "host": "inner.test", "path": "/x",
                "endpoints": [], "status": 503, "reason": "no_endpoint",
                "message": "it has no endpoint that takes requests",
            },
        ])
    );
    assert_eq!(answer["candidates"][0]["verdict"], "lost");
    assert_eq!(answer["candidates"][0]["by"], "pathLength");
    assert_eq!(answer["candidates"][0]["rule"], json!({"index": 1}));
}

#[test]
fn a_backends_rewrite_replaces_what_the_rule_matched() {
    let mut own = backend("a", 1);
    let change = Some(PathRewrite::Prefix(ReplacementPath::new("/own").unwrap()));
    own.filters = vec![Filter::Rewrite(RewriteUrl { hostname: None, path: change })];
    let forward = Action::Forward(Forward { backends: vec![own] });
    let answer = ask(&clear(vec![route("r", &[], vec![rule(prefix("/v1"), forward)])]), "http://a/v1/x", &[]);
    assert_eq!(answer["backends"][0]["path"], "/own/x");
    assert_eq!(answer["backends"][0]["host"], "a");
}

/// A RequestHeaderModifier may set Host, too, and a backend's own filters come last.
#[test]
fn a_host_that_a_filter_sets_is_the_one_forwarded() {
    let set = |host: &str| {
        let field = (HeaderName::new("Host").unwrap(), HeaderValue::new(host.as_bytes()).unwrap());
        Filter::RequestHeaders(HeaderModifier { set: vec![field], ..HeaderModifier::default() })
    };
    let rewrite = |host| Filter::Rewrite(RewriteUrl { hostname: Hostname::new(host), path: None });
    for (of_rule, of_backend, host) in [
        (vec![set("set.test:81")], vec![], "set.test:81"),
        (vec![set("set.test")], vec![rewrite("own.test")], "own.test"),
        (vec![rewrite("rule.test")], vec![set("own.test")], "own.test"),
    ] {
        let mut own = backend("a", 1);
        own.filters = of_backend;
        let mut rule = rule(prefix("/"), Action::Forward(Forward { backends: vec![own] }));
        rule.filters = of_rule;
        let answer = ask(&clear(vec![route("r", &[], vec![rule])]), "http://a/", &[]);
        assert_eq!(answer["backends"][0]["host"], host);
    }
}

#[test]
fn a_preflight_request_is_answered_by_the_rule_that_it_announces() {
    let mut put = prefix("/");
    put.method = Some("PUT".into());
    let mut announced = rule(put, to(&[("a", 1)]));
    announced.filters = vec![Filter::Cors(Cors {
        origins: Origins::Matching(vec![OriginPattern::new("https://*.b.test").unwrap()]),
        credentials: false,
        methods: Listed::All,
        request_headers: Listed::Only(vec![]),
        exposed_headers: Listed::Only(vec![]),
        max_age: 5,
    })];
    let model = clear(vec![route("r", &[], vec![announced, rule(prefix("/"), to(&[("a", 1)]))])]);
    let ask = |method: &str, asked: &str| {
        ask(&model, "OPTIONS http://a.test/", &[&format!("origin: {method}"), &format!("{asked}: PUT")])
    };
    let answer = ask("https://a.b.test", "access-control-request-method");
    assert_eq!((&answer["rule"]["index"], &answer["outcome"]), (&json!(0), &json!("respond")));
    assert_eq!((&answer["status"], &answer["reason"]), (&json!(204), &json!("cors_preflight")));
    assert_eq!(answer["filters"][0]["originAllowed"], json!(true));
    assert_eq!(answer["filters"][0]["allowOrigins"], json!(["https://*.b.test:443"]));
    let answer = ask("https://b.test", "access-control-request-method");
    assert_eq!(answer["message"], "the origin may not use the rule");
    assert_eq!(ask("https://a.b.test", "x")["rule"]["index"], json!(1), "no preflight request");
}

#[test]
fn a_redirect_has_its_location() {
    let redirect =
        Redirect { scheme: Some("https".into()), hostname: None, port: None, path: None, status: 301 };
    let model = clear(vec![route("r", &[], vec![rule(prefix("/"), Action::Redirect(redirect))])]);
    let answer = ask(&model, "http://a.test/x?y=z", &[]);
    assert_eq!((&answer["outcome"], &answer["status"]), (&json!("redirect"), &json!(301)));
    assert_eq!(answer["location"], "https://a.test/x?y=z");
    assert_eq!(
        answer["filters"],
        json!([{"type": "RequestRedirect", "location": "https://a.test/x?y=z", "status": 301}])
    );
}

/// `run --port-offset`: the URL has the moved port, and so has Location.
#[test]
fn an_offset_moves_ports() {
    let redirect =
        Redirect { scheme: Some("https".into()), hostname: None, port: None, path: None, status: 301 };
    let model = clear(vec![route("r", &[], vec![rule(prefix("/"), Action::Redirect(redirect))])]);
    let question = Question::new("GET", "http://a.test:8080/x", &[]).unwrap().behind_offset(8000);
    let answer = explain(&model, &question);
    assert_eq!(answer.location.as_deref(), Some("https://a.test:8443/x"));
    assert_eq!(answer.listener.unwrap().port, 80);
    let beyond = Question::new("GET", "http://a.test:65180/", &[]).unwrap().behind_offset(65_100);
    let answer = explain(&model, &beyond); // 443 cannot be moved as far
    assert_eq!((answer.status, answer.reason), (Some(500), Some("rule_invalid")));
    let below = Question::new("GET", "http://a.test/", &[]).unwrap().behind_offset(8000);
    assert_eq!(explain(&model, &below).reason, Some("no_listener"));
}

/// KEP-2433, KEP-3015: where every ready endpoint says for which zone it is, those for the proxy's zone are used.
#[test]
fn endpoints_that_are_meant_for_another_zone_are_told() {
    let mut model = clear(vec![route("r", &[], vec![rule(prefix("/"), to(&[("a", 1)]))])]);
    let endpoints = Arc::make_mut(&mut model.endpoints).get_mut(&cluster("a").endpoints).unwrap();
    let [first, second] = &mut Arc::make_mut(endpoints).endpoints[..] else { panic!("not two") };
    (first.state, second.state) = (EndpointState::Ready, EndpointState::Ready);
    (first.hints.zones, second.hints.zones) = (vec!["one".into()], vec!["two".into()]);
    let used = |zone: Option<&str>| {
        let at = Locality { zone: zone.map(Into::into), node: None };
        let question = Question::new("GET", "http://a/", &[]).unwrap().at(at);
        serde_json::to_value(explain(&model, &question)).unwrap()["backends"][0]["endpoints"].clone()
    };
    let told = |address: &str, used: bool| json!({"address": address, "state": "ready", "used": used});
    let (one, two) = ("10.0.0.1:8080", "10.0.0.2:8080");
    assert_eq!(used(None), json!([told(one, true), told(two, true)]));
    assert_eq!(used(Some("three")), json!([told(one, true), told(two, true)]));
    let farther = json!({"address": one, "state": "ready", "used": false, "nearer": "zone"});
    assert_eq!(used(Some("two")), json!([farther, told(two, true)]));
}

/// A running proxy knows what files cannot tell.
#[test]
fn a_running_proxy_says_which_endpoints_it_shuts_out() {
    let mut model = clear(vec![route("r", &[], vec![rule(prefix("/"), to(&[("a", 1)]))])]);
    let endpoints = Arc::make_mut(&mut model.endpoints).get_mut(&cluster("a").endpoints).unwrap();
    Arc::make_mut(endpoints).endpoints[1].state = EndpointState::Ready;
    let report = json!({"backends": [
        {"kind": "Service", "namespace": "other", "name": "a", "port": 80, "protocol": "TCP", "endpoints": [
            {"address": "10.0.0.1:8080", "state": "ready", "used": false, "ejectedForSeconds": 99},
        ]},
        {"kind": "Service", "namespace": "default", "name": "a", "port": 80, "protocol": "TCP", "endpoints": [
            {"address": "10.0.0.1:8080", "state": "ready", "used": false, "ejectedForSeconds": 18},
            {"address": "10.0.0.2:8080", "state": "ready", "used": true, "slowStart": true},
        ]},
    ]});
    let mut answer = explain(&model, &Question::new("GET", "http://a/", &[]).unwrap());
    heed(&serde_json::from_value(report).unwrap(), "TCP", answer.endpoints());
    let text = text(&answer, Paint::PLAIN);
    for line in [
        "10.0.0.1:8080 ready, shut out for 18s because it failed again and again",
        "10.0.0.2:8080 ready, used more and more",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

/// The gateway answers itself where the configuration demands it, and where no endpoint is there; only the first is
/// an outcome of its own, for endpoints come and go.
#[test]
fn a_rule_that_fails_responds() {
    let failure =
        Failure { status: 500, reason: FailureReason::RuleInvalid, message: "a filter is unknown".into() };
    let mut missing = backend("gone", 2);
    missing.target = Target::Fail(Failure {
        status: 500,
        reason: FailureReason::BackendInvalid,
        message: "Service default/gone does not exist".into(),
    });
    let backends = vec![backend("empty", 1), missing.clone()];
    let gone = Action::Forward(Forward { backends: vec![missing] });
    let model = clear(vec![route(
        "r",
        &[],
        vec![
            rule(prefix("/invalid"), Action::Fail(failure)),
            rule(prefix("/empty"), to(&[("empty", 1)])),
            rule(prefix("/mixed"), Action::Forward(Forward { backends })),
            rule(prefix("/gone"), gone),
            rule(prefix("/drained"), to(&[("drained", 1)])),
        ],
    )]);
    let short = |path: &str| {
        let answer = ask(&model, &format!("http://a{path}"), &[]);
        json!([answer["outcome"], answer["status"], answer["reason"]])
    };
    assert_eq!(short("/invalid"), json!(["respond", 500, "rule_invalid"]));
    assert_eq!(short("/empty"), json!(["forward", 503, "no_endpoint"]));
    assert_eq!(short("/mixed"), json!(["forward", 500, "backend_invalid"]));
    assert_eq!(short("/gone"), json!(["respond", 500, "backend_invalid"]));
    assert_eq!(short("/drained"), json!(["forward", null, null]));
}

/// A shop on port 80, whose API asks for a header, and a listener for every host on port 8080.
fn shop() -> Model {
    let mut with_header = prefix("/api");
    let name = HeaderName::new("x-version").unwrap();
    with_header.headers.push(HeaderMatch { name, value: ValueMatch::Exact("2".into()) });
    model(vec![
        listener(
            "web",
            80,
            "*.shop.test",
            ListenerProtocol::Http,
            vec![route(
                "r",
                &["www.shop.test"],
                vec![rule(with_header, to(&[("a", 1)])), rule(prefix("/carts"), to(&[("a", 1)]))],
            )],
        ),
        listener("other", 8080, "", ListenerProtocol::Http, vec![]),
    ])
}

/// Outcome, status, reason code and nearest misses.
fn refusal(model: &Model, url: &str, headers: &[&str]) -> Value {
    let answer = ask(model, url, headers);
    json!([answer["outcome"], answer["status"], answer["reason"], answer["nearest"]])
}

#[test]
fn what_nothing_takes_is_rejected_with_the_nearest() {
    let model = shop();
    assert_eq!(
        refusal(&model, "http://www.shop.test/api", &["X-Version: 1"]),
        json!([
            "reject",
            404,
            "no_rule",
            ["HTTPRoute default/r rule 0 has the path; header x-version: want \"2\", got \"1\""]
        ])
    );
    assert_eq!(
        refusal(&model, "http://www.shop.test/crats/1", &[]),
        json!([
            "reject",
            404,
            "no_rule",
            ["HTTPRoute default/r rule 1 wants the path /carts: a letter or two differ"]
        ])
    );
    assert_eq!(
        refusal(&model, "http://wwv.shop.test/carts", &[]),
        json!([
            "reject",
            404,
            "no_rule",
            [
                "listener Gateway/default/gw/other (HTTP port 8080) takes the host wwv.shop.test",
                "HTTPRoute/default/r takes www.shop.test, not wwv.shop.test"
            ]
        ])
    );
}

/// Requests that break HTTP, and connections that come to nothing, are rejected too.
#[test]
fn each_rejection_has_its_status() {
    let model = shop();
    assert_eq!(refusal(&model, "http://shop.test/carts", &[])[2], json!("no_listener"));
    assert_eq!(
        refusal(&model, "http://shop.test/", &["content-type: application/grpc+proto"])[1],
        json!(200) // grpc-status 12
    );
    assert_eq!(refusal(&model, "http://www.shop.test:81/", &[])[1], json!(null));
    assert_eq!(refusal(&model, "http://www.shop.test/%zz", &[])[1], json!(400));
    assert_eq!(refusal(&model, "http://www.shop.test/", &["host: a", "host: b"])[1], json!(400));
    assert_eq!(refusal(&model, "http://www.shop.test/%zz", &[])[3], json!([])); // no other place would take it
    assert_eq!(
        refusal(&model, "https://www.shop.test:80/", &[]),
        json!([
            "reject",
            null,
            "tls_handshake",
            ["listener Gateway/default/gw/other (HTTP port 8080) takes the host www.shop.test"]
        ])
    );
}

fn tls(name: &str) -> ListenerProtocol {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let certificate = Certificate::parse(
        origin("Secret", "cert"),
        made.cert.pem().as_bytes(),
        made.signing_key.serialize_pem().as_bytes(),
    );
    let certificates = vec![Arc::new(certificate.unwrap())];
    ListenerProtocol::Https(Some(Arc::new(TlsServer {
        certificates,
        options: TlsOptions::default(),
        clients: None,
    })))
}

#[test]
fn a_server_name_chooses_listener_and_certificate() {
    let routes = || vec![route("r", &[], vec![rule(prefix("/"), to(&[("a", 1)]))])];
    let model = model(vec![
        listener("wild", 443, "*.a.test", tls("*.a.test"), routes()),
        listener("own", 443, "b.a.test", tls("other.test"), routes()),
        listener("bare", 443, "c.a.test", ListenerProtocol::Https(None), routes()),
    ]);
    let answer = ask(&model, "https://x.a.test/", &[]);
    assert_eq!(answer["outcome"], "forward");
    assert_eq!(answer["tls"]["serverName"], "x.a.test");
    assert_eq!(answer["tls"]["listener"]["name"], "wild");
    assert_eq!(answer["tls"]["certificate"]["names"], json!(["*.a.test"]));
    assert_eq!(answer["tls"]["certificate"]["namesServer"], true);
    let own = ask(&model, "https://b.a.test/", &[]);
    assert_eq!(own["listener"]["name"], "own");
    assert_eq!(own["tls"]["certificate"]["namesServer"], false);
    assert_eq!(own["rivalListeners"][0]["listener"]["name"], "wild");
    assert_eq!(own["rivalListeners"][0]["lost"], "*.a.test is less specific than b.a.test");
    let short = |url: &str, headers: &[&str]| {
        let answer = ask(&model, url, headers);
        json!([answer["outcome"], answer["status"], answer["reason"]])
    };
    assert_eq!(short("https://x.a.test/", &["Host: b.a.test"]), json!(["reject", 421, "misdirected"]));
    assert_eq!(short("https://x.a.test/", &["Host: y.a.test"]), json!(["forward", null, null]));
    assert_eq!(short("https://x.a.test/", &["Host: z.test"]), json!(["reject", 404, "no_listener"]));
    assert_eq!(short("https://z.test/", &[]), json!(["reject", null, "unknown_server_name"]));
    assert_eq!(short("https://10.0.0.1/", &[]), json!(["reject", null, "unknown_server_name"]));
    assert_eq!(short("https://c.a.test/", &[]), json!(["reject", null, "no_certificate"]));
    assert_eq!(short("http://x.a.test:443/", &[]), json!(["reject", null, "tls_handshake"]));
}

#[test]
fn a_shadowed_rule_is_told() {
    let rules = vec![rule(prefix("/"), to(&[("a", 1)])), rule(prefix("/"), to(&[("empty", 1)]))];
    let answer = ask(&clear(vec![route("r", &[], rules)]), "http://a/", &[]);
    assert_eq!(
        answer["candidates"][0]["shadowedBy"],
        json!({"route": {"kind": "HTTPRoute", "namespace": "default", "name": "r"}, "rule": {"index": 0}})
    );
}

/// Each rule stands once among the candidates, by the match that came nearest.
#[test]
fn of_a_rules_matches_the_nearest_is_told() {
    let mut two = rule(prefix("/far"), to(&[("a", 1)]));
    two.matches.push(Match { method: Some("POST".into()), ..prefix("/x") });
    let answer = ask(&clear(vec![route("r", &[], vec![two])]), "http://a/x", &[]);
    assert_eq!(answer["candidates"].as_array().unwrap().len(), 1);
    assert_eq!(answer["candidates"][0]["match"]["index"], 1);
    assert_eq!(answer["candidates"][0]["detail"], "method: want POST, got GET");
    assert_eq!(answer["candidates"][0]["by"], "method");
}

#[test]
fn a_person_reads_lines() {
    let mut forwarding = rule(prefix("/v1"), to(&[("a", 2), ("empty", 1)]));
    let value = |text: &str| HeaderValue::new(text.as_bytes()).unwrap();
    forwarding.filters = vec![Filter::RequestHeaders(HeaderModifier {
        set: vec![(HeaderName::new("x-a").unwrap(), value("1"))],
        ..HeaderModifier::default()
    })];
    let model = clear(vec![route("r", &[], vec![rule(prefix("/"), to(&[("a", 1)])), forwarding])]);
    let answer = explain(&model, &Question::new("GET", "http://a.test/v1/x?q", &[]).unwrap());
    assert_eq!(answer.outcome, Outcome::Forward);
    let expected = "\
GET http://a.test/v1/x?q
answer     forwarded to a backend
listener   web of Gateway default/gw (HTTP, port 80, every host)
route      HTTPRoute default/r, rule 1
match      path prefix /v1
filters    request headers: set x-a: 1
backends   66.7% Service default/a:80 as a.test/v1/x
             10.0.0.1:8080 ready
             10.0.0.2:8080 draining, not used while others are ready
           33.3% Service default/empty:80 as a.test/v1/x
             503 (no_endpoint): it has no endpoint that takes requests
not taken  = HTTPRoute default/r, rule 0: matches too, but its path is shorter
";
    assert_eq!(text(&answer, Paint::PLAIN), expected);
    let refused = explain(&model, &Question::new("GET", "http://a.test:81/", &[]).unwrap());
    assert_eq!(
        text(&refused, Paint::PLAIN),
        "GET http://a.test:81/\n\
         answer     no answer (no_listener): no listener is bound to port 81\n\
         nearest    listener Gateway/default/gw/web (HTTP port 80) takes the host a.test\n"
    );
}

/// Filters of a listener are told, and rules are matched on what they leave; the host stays.
#[test]
fn rules_see_what_the_filters_of_the_listener_leave() {
    let header =
        HeaderMatch { name: HeaderName::new("x-tenant").unwrap(), value: ValueMatch::Exact("gold".into()) };
    let gold = rule(Match { headers: vec![header], ..prefix("/") }, to(&[("a", 1)]));
    let routes = vec![route("r", &[], vec![gold, rule(prefix("/"), to(&[("drained", 1)]))])];
    let auth = ExternalAuth {
        origin: origin("Service", "auth"),
        port: Some(80),
        cluster: cluster("a"),
        protocol: AuthProtocol::Http { path_prefix: "/check".into(), response_headers: vec![] },
        request_headers: vec![],
        body_limit: 0,
    };
    let listed = AuthProtocol::Http {
        path_prefix: "".into(),
        response_headers: vec![HeaderName::new("x-tenant").unwrap()],
    };
    let listing = ExternalAuth { protocol: listed, ..auth.clone() };
    let filtered = |filters| {
        let open = listener("web", 80, "", ListenerProtocol::Http, routes.clone());
        model(vec![Arc::new(Listener { filters, ..Arc::unwrap_or_clone(open) })])
    };
    let guarded = filtered(ListenerFilters::Ask(vec![auth]));
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let question = Question::new("GET", "http://h/p", &lines(&["x-tenant: lead"])).unwrap();
    let asked = |granted: &[&str]| {
        let question = question.clone().granted(&lines(granted)).unwrap();
        serde_json::to_value(explain(&guarded, &question)).unwrap()
    };
    let first = json!([{
        "type": "ExternalAuth",
        "object": {"kind": "Service", "namespace": "default", "name": "auth"},
        "port": 80,
        "path": "/check/p"
    }]);
    for (granted, rule) in [(&[][..], 1), (&["x-tenant: gold", "host: other"], 0)] {
        let answer = asked(granted);
        assert_eq!((&answer["listenerFilters"], &answer["rule"]["index"]), (&first, &json!(rule)));
        assert_eq!(answer["backends"][0]["host"], "h");
    }
    let page = text(&explain(&guarded, &question), Paint::PLAIN);
    assert!(page.contains("first      if Service default/auth:80 answers /check/p with 200\n"), "{page}");
    let listing = filtered(ListenerFilters::Ask(vec![listing]));
    assert_eq!(ask(&guarded, "http://h/p", &["x-tenant: gold"])["rule"]["index"], 0, "nobody says otherwise");
    assert_eq!(
        ask(&listing, "http://h/p", &["x-tenant: gold"])["rule"]["index"],
        1,
        "the service says nothing"
    );
    let failure = Failure { status: 500, reason: FailureReason::FilterUnresolved, message: "no auth".into() };
    let answer = ask(&filtered(ListenerFilters::Fail(failure)), "http://h/p", &[]);
    assert_eq!((&answer["outcome"], &answer["status"]), (&json!("reject"), &json!(500)));
    assert_eq!((&answer["reason"], &answer["message"]), (&json!("filter_unresolved"), &json!("no auth")));
    assert_eq!(answer["nearest"], json!([]));
}
