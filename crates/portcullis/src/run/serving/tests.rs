use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portcullis_model::{
    Age, ClusterKey, Endpoint, EndpointAddress, Endpoints, EndpointsKey, Failure, FailureReason, Forward,
    HeaderMatch, HeaderName, ListenerFilters, ListenerId, Origin, Pattern, QueryMatch, Redirect, RuleId,
    Timeouts, Transport, UpstreamProtocol, WeightedBackend,
};

use super::*;

fn origin(kind: &str, name: &str) -> Origin {
    Origin { kind: kind.into(), namespace: "shop".into(), name: name.into() }
}

fn any() -> Match {
    Match { path: PathMatch::Prefix("".into()), method: None, headers: Vec::new(), query: Vec::new() }
}

fn backend(name: &str, weight: u32) -> WeightedBackend {
    let endpoints = EndpointsKey { origin: origin("Service", name), port: 80, transport: Transport::Tcp };
    WeightedBackend {
        origin: origin("Service", name),
        port: Some(80),
        weight,
        target: Target::Cluster(ClusterKey { endpoints, protocol: UpstreamProtocol::Http1 }),
        filters: Vec::new(),
    }
}

fn forward(backends: Vec<WeightedBackend>) -> Action {
    Action::Forward(Forward { backends })
}

fn rule(index: usize, matches: Vec<Match>, action: Action) -> Arc<Rule> {
    let id = RuleId { route: origin("HTTPRoute", "r"), index, name: None };
    Arc::new(Rule { id, matches, filters: Vec::new(), action, timeouts: Timeouts::default(), retry: None })
}

fn listener(
    hostname: &str,
    protocol: ListenerProtocol,
    hosts: &[&str],
    rules: Vec<Arc<Rule>>,
) -> Arc<Listener> {
    let route = Route {
        origin: origin("HTTPRoute", "r"),
        age: Age::UNKNOWN,
        hostnames: hosts.iter().map(|host| HostPattern::parse(host)).collect(),
        rules,
    };
    let owner = origin("Gateway", "web");
    Arc::new(Listener {
        id: ListenerId { gateway: owner.clone(), owner, name: "l".into() },
        port: 80,
        hostname: HostPattern::parse(hostname),
        protocol,
        filters: ListenerFilters::default(),
        client_certificate: None,
        routes: vec![Arc::new(route)],
        grpc_routes: Vec::new(),
    })
}

fn model(addresses: &[IpAddr], listeners: Vec<Arc<Listener>>) -> Model {
    let port = Arc::new(Port { listeners });
    let ports: BTreeMap<_, _> =
        addresses.iter().map(|ip| (BindAddress::tcp(*ip, 80), Arc::clone(&port))).collect();
    let endpoints = ["a", "b"].map(|name| {
        let key = EndpointsKey { origin: origin("Service", name), port: 80, transport: Transport::Tcp };
        let address = EndpointAddress::Socket("192.0.2.1:80".parse().unwrap());
        let endpoints = vec![Endpoint::ready(address)];
        (key.clone(), Arc::new(Endpoints { key, endpoints }))
    });
    Model { ports, endpoints: Arc::new(BTreeMap::from(endpoints)), ..Model::default() }
}

fn commands(model: &Model) -> Vec<String> {
    samples(model, 8000, |_| true).into_iter().map(|sample| sample.command).collect()
}

const EVERYWHERE: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

#[test]
fn a_sample_asks_for_all_that_the_rule_asks_for() {
    let wanted = Match {
        path: PathMatch::Exact("/a".into()),
        method: Some("POST".into()),
        headers: vec![HeaderMatch {
            name: HeaderName::new("x-kind").unwrap(),
            value: ValueMatch::Exact("it's".into()),
        }],
        query: vec![QueryMatch { name: "q".into(), value: ValueMatch::Exact("1&2".into()) }],
    };
    let rules = vec![rule(0, vec![wanted], forward(vec![backend("a", 1)]))];
    let listener = listener("*.shop.test", ListenerProtocol::Https(None), &["www.shop.test"], rules);
    assert_eq!(
        samples(&model(&EVERYWHERE, vec![listener]), 8000, |_| true),
        [Sample {
            command: r"curl -X POST -H 'x-kind: it'\''s' -k --resolve www.shop.test:8080:127.0.0.1 'https://www.shop.test:8080/a?q=1%262'".into(),
            leads_to: "Service/shop/a".into(),
        }]
    );
}

#[test]
fn names_that_curl_knows_need_no_resolving() {
    let rules = || vec![rule(0, vec![any()], forward(vec![backend("a", 1)]))];
    let http =
        |listener_host: &str, host: &str| listener(listener_host, ListenerProtocol::Http, &[host], rules());
    let of = |listener| commands(&model(&EVERYWHERE, vec![listener]));
    assert_eq!(of(http("", "")), ["curl http://localhost:8080/"]);
    assert_eq!(of(http("shop.localhost", "")), ["curl http://shop.localhost:8080/"]);
    assert_eq!(of(http("", "*.localhost")), ["curl http://any.localhost:8080/"]);
    assert_eq!(of(http("a.test", "*.test")), ["curl --resolve a.test:8080:127.0.0.1 http://a.test:8080/"]);
    let v6 = model(&["2001:db8::1".parse().unwrap()], vec![http("", "")]);
    assert_eq!(commands(&v6), ["curl 'http://[2001:db8::1]:8080/'"]);
}

#[test]
fn it_says_where_a_request_leads() {
    let redirect = Redirect { scheme: None, hostname: None, port: None, path: None, status: 301 };
    let failure =
        Failure { status: 500, reason: FailureReason::RuleInvalid, message: "no such filter".into() };
    let rules = vec![
        rule(0, vec![any()], forward(vec![backend("a", 9), backend("b", 1), backend("never", 0)])),
        rule(1, vec![any()], Action::Redirect(redirect)),
        rule(2, vec![any()], Action::Fail(failure)),
        rule(3, vec![any()], forward(vec![backend("empty", 1)])),
    ];
    let model = model(&EVERYWHERE, vec![listener("", ListenerProtocol::Http, &[""], rules)]);
    let leads: Vec<String> = samples(&model, 0, |_| true).into_iter().map(|sample| sample.leads_to).collect();
    assert_eq!(
        leads,
        [
            "Service/shop/a (9), Service/shop/b (1)",
            "301 redirect",
            "500: no such filter",
            "Service/shop/empty 503: no endpoint",
        ]
    );
}

#[test]
fn a_rule_that_only_expressions_describe_has_no_sample() {
    let wanted = Match { path: PathMatch::Regex(Pattern::new("/a+").unwrap()), ..any() };
    let rules = vec![rule(0, vec![wanted], forward(vec![backend("a", 1)]))];
    let listener = listener("", ListenerProtocol::Http, &[""], rules);
    assert_eq!(commands(&model(&EVERYWHERE, vec![listener])), Vec::<String>::new());
}

#[test]
fn an_address_that_is_not_bound_is_not_shown() {
    let rules = vec![rule(0, vec![any()], forward(vec![backend("a", 1)]))];
    let model = model(&EVERYWHERE, vec![listener("", ListenerProtocol::Http, &[""], rules)]);
    let shown = samples(&model, 0, |address| address.ip.is_ipv6());
    assert_eq!(shown.len(), 1);
    assert_eq!(samples(&model, 0, |_| false), []);
}
