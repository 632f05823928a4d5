//! Filters of listeners (GEP-5224): before a rule is looked for, on every request, in the order of the list.

use portcullis_model::{
    CallMatch, Cors, ExternalAuth, Failure, FailureReason, Filter, HeaderMatch, HeaderName, Listed,
    ListenerFilters, Match, Origins, PathMatch, ValueMatch,
};

use crate::auth::{answering, auth, by_http, names, telling};
use crate::support::http2::{Http2, run};
use crate::support::http3::Http3;
use crate::support::model::{cluster_key, forward, prefix, requests};
use crate::support::tls::{Authority, http3};
use crate::support::{Backend, Gateway, Rules, Running, eventually, fields};

/// A filter that asks the service with this name.
fn asking(service: &str) -> ExternalAuth {
    ExternalAuth { cluster: cluster_key(service, requests(service)), ..auth() }
}

/// A match of everything that has this header.
fn having(name: &str, value: &str) -> Match {
    let header = HeaderMatch { name: HeaderName::new(name).unwrap(), value: ValueMatch::Exact(value.into()) };
    Match { headers: vec![header], ..prefix("/") }
}

/// What is left of a request is matched: those with `x-tenant: gold` go to `gold`, others to `web`.
fn by_tenant() -> Rules {
    Rules::new().to("/", "gold").matching(vec![having("x-tenant", "gold")]).to("/", "web")
}

fn granting(name: &str, value: &str) -> Backend {
    answering(format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{name}: {value}\r\n\r\n").leak())
}

fn refusing() -> Backend {
    answering("HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nlogin")
}

fn gateway(rules: Rules, filters: Vec<ExternalAuth>, backends: &[(&str, &Backend)]) -> Gateway {
    let gateway = Gateway::new().http("", rules).filtered(ListenerFilters::Ask(filters));
    backends.iter().fold(gateway, |gateway, (name, backend)| gateway.backend(name, &[backend.address]))
}

const AS_LEAD: &str = "GET /a/../b HTTP/1.1\r\nHost: a\r\nX-Tenant: lead\r\n\r\n";

/// Rules are matched once, on what the filters leave: what the client said of itself chooses nothing.
#[test]
fn rules_see_what_the_filters_leave() {
    let (gold, web) = (telling(), telling());
    for (says, taker, other) in [("gold", &gold, &web), ("lead", &web, &gold)] {
        let service = granting("x-tenant", says);
        let backends = [("gold", &gold), ("web", &web), ("auth", &service)];
        let running = Running::start(&gateway(by_tenant(), vec![asking("auth")], &backends));
        for claimed in ["gold", "lead"] {
            let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: {claimed}\r\n\r\n");
            assert_eq!(running.send(&request).status, 200);
            assert_eq!(fields(&taker.head(), "x-tenant"), [says]);
        }
        assert!(other.no_more_heads());
    }
}

/// A client is not believed under a name that is the service's to say, even where that says nothing.
#[test]
fn nobody_claims_what_is_the_services_to_say() {
    let (gold, web, silent) =
        (telling(), telling(), answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    let listed = ExternalAuth { protocol: by_http("", &["x-tenant"]), ..asking("auth") };
    let backends = [("gold", &gold), ("web", &web), ("auth", &silent)];
    let running = Running::start(&gateway(by_tenant(), vec![listed], &backends));
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\nX-Tenant: gold\r\n\r\n").status, 200);
    assert!(fields(&web.head(), "x-tenant").is_empty() && gold.no_more_heads());
}

/// The order of the list is that of the filters: each sees what those before it leave, and the last word counts.
#[test]
fn filters_run_in_the_order_of_the_list() {
    let (gold, web) = (telling(), telling());
    let (one, two) = (granting("x-tenant", "gold"), granting("x-tenant", "lead"));
    let seeing = |service| ExternalAuth { request_headers: names(&["x-tenant"]), ..asking(service) };
    let backends = [("gold", &gold), ("web", &web), ("one", &one), ("two", &two)];
    for (first, last, taker) in [("one", "two", &web), ("two", "one", &gold)] {
        let filters = vec![seeing(first), seeing(last)];
        let running = Running::start(&gateway(by_tenant(), filters, &backends));
        assert_eq!(running.send(AS_LEAD).status, 200);
        let told = [("one", one.head()), ("two", two.head())];
        let told = |name: &str| told.iter().find(|(other, _)| *other == name).unwrap().1.clone();
        assert_eq!(fields(&told(first), "x-tenant"), ["lead"], "as the client said it");
        assert_eq!(fields(&told(last), "x-tenant"), [if first == "one" { "gold" } else { "lead" }]);
        for head in [told(first), told(last), taker.head()] {
            assert!(head.starts_with("GET /b HTTP/1.1"), "one canonical path: {head}");
        }
    }
}

/// A filter that answers ends the request: no other is run, no rule is looked for, nothing is sent on.
#[test]
fn a_filter_that_answers_ends_the_request() {
    let (web, service, never) = (telling(), refusing(), telling());
    let backends = [("web", &web), ("auth", &service), ("never", &never)];
    let filters = vec![asking("auth"), asking("never")];
    let running = Running::start(&gateway(Rules::new().to("/only", "web"), filters, &backends));
    let mut client = running.client();
    for path in ["/only", "/of-no-rule"] {
        let answer = client.get("a", path);
        assert_eq!((answer.status, answer.body.as_str()), (401, "login"), "{path}");
        service.head();
    }
    assert!(web.no_more_heads() && never.no_more_heads());
    eventually(|| running.metrics().contains("reason=\"auth_denied\"} 2").then_some(()));
}

/// Filters run on every request, whether or not a rule takes it, preflight requests among them; the same filter on a
/// rule runs again.
#[test]
fn filters_run_on_every_request_and_those_of_rules_again() {
    let (web, service) = (telling(), granting("x-user", "ann"));
    let cors = Cors {
        origins: Origins::Any,
        credentials: false,
        methods: Listed::All,
        request_headers: Listed::All,
        exposed_headers: Listed::All,
        max_age: 5,
    };
    let rules = Rules::new().to("/twice", "web").filters(vec![Filter::Auth(asking("auth"))]);
    let rules = rules.to("/cors", "web").filters(vec![Filter::Cors(cors)]);
    let backends = [("web", &web), ("auth", &service)];
    let running = Running::start(&gateway(rules, vec![asking("auth")], &backends));
    let mut client = running.client();
    assert_eq!(client.get("a", "/of-no-rule").status, 404);
    assert!(service.head().starts_with("GET /of-no-rule "));
    assert_eq!(client.get("a", "/twice").status, 200);
    assert!((0..2).all(|_| service.head().starts_with("GET /twice ")));
    client.send(
        "OPTIONS /cors HTTP/1.1\r\nHost: a\r\nOrigin: https://b\r\nAccess-Control-Request-Method: GET\r\n\r\n",
    );
    assert_eq!(client.answer().status, 204);
    assert!(service.head().starts_with("OPTIONS /cors "));
    assert!(service.no_more_heads());
}

/// The listener is not chosen again, and the host stays whatever the service says; other listeners' requests pass by.
#[test]
fn the_host_and_the_listener_stay() {
    let (web, other) = (telling(), Backend::named("other"));
    let service = granting("host", "other.test");
    let listed = ExternalAuth { protocol: by_http("", &["host", "x-user"]), ..asking("auth") };
    let gateway = Gateway::new()
        .http("other.test", Rules::new().to("/", "other"))
        .http("", Rules::new().to("/", "web"))
        .filtered(ListenerFilters::Ask(vec![listed]))
        .backend("web", &[web.address])
        .backend("other", &[other.address])
        .backend("auth", &[service.address]);
    let running = Running::start(&gateway);
    let mut client = running.client();
    let answer = client.get("a.test", "/");
    assert_eq!(fields(&answer.body, "host"), ["a.test"]);
    service.head();
    assert_eq!(client.get("other.test", "/").body, "other");
    assert!(service.no_more_heads());
}

/// What cannot be run lets nothing pass: every request fails, in a call's own words if it is one.
#[test]
fn what_cannot_be_run_lets_nothing_pass() {
    let web = telling();
    let failure = Failure { status: 500, reason: FailureReason::FilterUnresolved, message: "".into() };
    let gateway = Gateway::new()
        .grpc("", Rules::new().to("/", "web"), Rules::new().call("", "", forward(&[("web", 1)])))
        .filtered(ListenerFilters::Fail(failure))
        .backend("web", &[web.address]);
    let running = Running::start(&gateway);
    let mut client = running.client();
    assert_eq!(client.get("a", "/").status, 500);
    assert_eq!(client.get("a", "/of-no-rule").status, 500);
    client.send(
        "POST /a.B/C HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\n\r\n",
    );
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("grpc-status")), (200, Some("14")));
    assert!(web.no_more_heads());
    eventually(|| running.metrics().contains("reason=\"filter_unresolved\"} 3").then_some(()));
}

/// The same over QUIC.
#[test]
fn requests_over_http3_are_filtered_too() {
    let (gold, web, service) = (Backend::named("gold"), Backend::named("web"), granting("x-tenant", "gold"));
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", http3(authority.https(&["a.test"])), by_tenant())
        .filtered(ListenerFilters::Ask(vec![asking("auth")]))
        .backend("gold", &[gold.address])
        .backend("web", &[web.address])
        .backend("auth", &[service.address]);
    let running = Running::start(&gateway);
    let client = Http3::connect(running.quic(), "a.test", authority.client(&["h3"])).unwrap();
    assert_eq!(client.get("a.test", "/").text(), "gold");
    assert!(service.head().starts_with("GET / HTTP/1.1\r\n"));
}

/// The same over TLS and HTTP/2, for requests and for gRPC calls, which GRPCRoutes take by what the filters leave.
#[test]
fn streams_are_filtered_as_requests_are() {
    let (gold, web, service) = (Backend::named("gold"), Backend::named("web"), granting("x-tenant", "gold"));
    let any_call = PathMatch::Call(CallMatch::default());
    let golden_call = Match { path: any_call, ..having("x-tenant", "gold") };
    let gateway = Gateway::new()
        .grpc(
            "",
            Rules::new().to("/", "web"),
            Rules::new().call("", "", forward(&[("gold", 1)])).matching(vec![golden_call]),
        )
        .filtered(ListenerFilters::Ask(vec![asking("auth")]))
        .backend("gold", &[gold.address])
        .backend("web", &[web.address])
        .backend("auth", &[service.address]);
    let running = Running::start(&gateway);
    run(async {
        let mut client = Http2::connect(running.address()).await;
        assert_eq!(client.get("a", "/").await.body, "web");
        let call = http::Request::post("http://a/a.B/C").header("te", "trailers");
        let call = call.header("content-type", "application/grpc").header("x-tenant", "lead");
        assert_eq!(client.send(call.body(()).unwrap()).await.unwrap().body, "gold");
        assert_eq!(fields(&gold.head(), "x-tenant"), ["gold"]);
    });
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", authority.https(&["a.test"]), by_tenant())
        .filtered(ListenerFilters::Ask(vec![asking("auth")]))
        .backend("gold", &[gold.address])
        .backend("web", &[web.address])
        .backend("auth", &[service.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(client.get("a.test", "/").body, "gold");
    client.send("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
    assert_eq!(client.answer().status, 404, "another listener's host is not asked about");
}

/// A body that a service is shown is held once, shown to each that may see it, and sent whole.
#[test]
fn a_body_is_shown_to_each_and_then_sent() {
    let (web, one, two) = (telling(), telling(), telling());
    let showing = |service, body_limit| ExternalAuth { body_limit, ..asking(service) };
    let filters = vec![showing("one", 8), showing("two", 5)];
    let backends = [("web", &web), ("one", &one), ("two", &two)];
    let running = Running::start(&gateway(Rules::new().to("/", "web"), filters, &backends));
    let answer = running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert!(answer.body.ends_with("\r\n\r\nhello"), "{}", answer.body);
    for service in [&one, &two] {
        assert_eq!(fields(&service.head(), "content-length"), ["5"]);
    }
    let longer = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nhello!";
    assert_eq!(running.send(longer).status, 413, "no filter is shown a part of a body");
}

/// Filters come and go under open connections, as rules do.
#[test]
fn filters_change_under_open_connections() {
    let (web, service) = (Backend::named("web"), refusing());
    let backends = [("web", &web), ("auth", &service)];
    let filtered = |filters| gateway(Rules::new().to("/", "web"), filters, &backends).model();
    let mut running = Running::start(&Gateway::to(web.address));
    let mut client = running.client();
    for _ in 0..5 {
        running.apply(&filtered(vec![asking("auth")]));
        assert_eq!(client.get("a", "/").status, 401);
        running.apply(&filtered(Vec::new()));
        assert_eq!(client.get("a", "/").body, "web");
    }
}
