//! Route hostnames: HTTPRoute.spec.hostnames and GatewayRouteHostnameIntersectionPrecedence.

use portcullis_model::Age;

use crate::build::{aged_route, ask, exact, listener, listener_of, prefix, route};

#[test]
fn a_wildcard_takes_any_depth_and_not_its_own_name() {
    let listener = listener(vec![route("w", &["*.example.com"], vec![vec![prefix("/")]])]);
    assert_eq!(ask(&listener, "GET a.example.com/").as_deref(), Some("w 0.0"));
    assert_eq!(ask(&listener, "GET a.b.example.com/").as_deref(), Some("w 0.0"));
    assert_eq!(ask(&listener, "GET example.com/"), None);
}

/// The port in Host, its case and a trailing dot play no part.
#[test]
fn port_case_and_trailing_dot_are_ignored() {
    let listener = listener(vec![route("r", &["a.com"], vec![vec![prefix("/")]])]);
    for host in ["a.com:8082", "A.COM", "a.com.", "A.com.:1"] {
        assert_eq!(ask(&listener, &format!("GET {host}/")).as_deref(), Some("r 0.0"), "{host}");
    }
}

#[test]
fn a_specific_hostname_beats_age() {
    let listener = listener(vec![
        aged_route("old", Age::created_at(1), &[], vec![vec![exact("/x")]]),
        aged_route("new", Age::created_at(2), &["a.com"], vec![vec![prefix("/")]]),
    ]);
    assert_eq!(ask(&listener, "GET a.com/x").as_deref(), Some("new 0.0"));
    assert_eq!(ask(&listener, "GET b.com/x").as_deref(), Some("old 0.0"));
}

/// Order is by the route's own hostname, not by its intersection with the listener's: under the listener
/// `a.example.com` both routes' intersections are that name.
#[test]
fn the_routes_own_hostname_ranks() {
    let routes = vec![
        aged_route("wide", Age::created_at(1), &["*.example.com"], vec![vec![exact("/x")]]),
        aged_route("same", Age::created_at(2), &["a.example.com"], vec![vec![prefix("/")]]),
    ];
    let routes = routes.into_iter().map(std::sync::Arc::new).collect();
    let listener = listener_of("l", portcullis_model::ListenerProtocol::Http, "a.example.com", routes);
    assert_eq!(ask(&listener, "GET a.example.com/x").as_deref(), Some("same 0.0"));
}

/// A listener's wildcard and a route's meet where both match, whichever is the longer.
#[test]
fn wildcards_of_listener_and_route_intersect() {
    let asked = |listener_host: &str, route_host: &str, host: &str| {
        let routes = vec![std::sync::Arc::new(route("r", &[route_host], vec![vec![prefix("/")]]))];
        let http = portcullis_model::ListenerProtocol::Http;
        let port = crate::build::port(vec![listener_of("l", http, listener_host, routes)]);
        let table = portcullis_routing::PortTable::build(&port, |_, _, _| ());
        crate::build::with_request(&format!("GET {host}/"), &[], |request| {
            let listener = table.listener_for_host(portcullis_routing::Scheme::Http, request.host);
            listener.is_some_and(|listener| listener.lookup(request).is_some())
        })
    };
    assert!(asked("*.l.org", "t.l.org", "t.l.org"));
    assert!(!asked("*.l.org", "t.l.org", "u.l.org"));
    assert!(asked("*.e.com", "*.a.e.com", "x.a.e.com"));
    assert!(!asked("*.e.com", "*.a.e.com", "x.e.com"));
    assert!(asked("*.a.e.com", "*.e.com", "x.a.e.com"));
    assert!(!asked("*.a.e.com", "*.e.com", "x.e.com"));
}

#[test]
fn less_specific_hostnames_are_tried_when_no_rule_matches() {
    let listener = listener(vec![
        route("exact", &["a.b.com"], vec![vec![exact("/exact")]]),
        route("near", &["*.b.com"], vec![vec![exact("/near")]]),
        route("far", &["*.com"], vec![vec![exact("/far")]]),
        route("any", &[], vec![vec![prefix("/any")]]),
    ]);
    for (path, expected) in [
        ("exact", Some("exact 0.0")),
        ("near", Some("near 0.0")),
        ("far", Some("far 0.0")),
        ("any", Some("any 0.0")),
    ] {
        assert_eq!(ask(&listener, &format!("GET a.b.com/{path}")).as_deref(), expected);
    }
    assert_eq!(ask(&listener, "GET a.b.com/none"), None);
}

#[test]
fn an_address_is_no_hostname() {
    let listener = listener(vec![
        route("named", &["1.2.3.4"], vec![vec![prefix("/")]]),
        route("any", &[], vec![vec![prefix("/any")]]),
    ]);
    assert_eq!(ask(&listener, "GET 1.2.3.4/x"), None);
    assert_eq!(ask(&listener, "GET 1.2.3.4:80/any").as_deref(), Some("any 0.0"));
}
