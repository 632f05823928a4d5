//! Which listener takes a connection and a request.

use std::sync::Arc;

use portcullis_model::{HostPattern, ListenerProtocol};
use portcullis_routing::{ListenerTable, Misdirected, PortTable, Scheme};

use crate::build::{listener_of, port};

fn table(https: &[(&str, &str)], http: &[(&str, &str)]) -> PortTable<()> {
    let of = |protocol: ListenerProtocol| {
        move |(name, host): &(&str, &str)| listener_of(name, protocol.clone(), host, vec![])
    };
    let https = https.iter().map(of(ListenerProtocol::Https(None)));
    PortTable::build(&port(https.chain(http.iter().map(of(ListenerProtocol::Http))).collect()), |_, _, _| ())
}

fn name(table: Option<&Arc<ListenerTable<()>>>) -> Option<String> {
    table.map(|table| table.listener().id.name.to_string())
}

/// GatewayHTTPListenerIsolation: the most specific listener of the port and scheme, alone.
#[test]
fn the_most_specific_listener_takes_a_host() {
    let table = table(
        &[("tls", "*.a.com")],
        &[("any", ""), ("wild", "*.a.com"), ("deep", "*.b.a.com"), ("exact", "x.a.com")],
    );
    let of = |scheme, host| name(table.listener_for_host(scheme, host));
    assert_eq!(of(Scheme::Http, "x.a.com").as_deref(), Some("exact"));
    assert_eq!(of(Scheme::Http, "y.b.a.com").as_deref(), Some("deep"));
    assert_eq!(of(Scheme::Http, "b.a.com").as_deref(), Some("wild"));
    assert_eq!(of(Scheme::Http, "a.com").as_deref(), Some("any"));
    assert_eq!(of(Scheme::Http, "").as_deref(), Some("any"));
    assert_eq!(of(Scheme::Https, "x.a.com").as_deref(), Some("tls"));
    assert_eq!(of(Scheme::Https, "a.com"), None);
    let all = table.listeners_for_host(Scheme::Http, "x.a.com").map(|table| name(Some(table)).unwrap());
    assert_eq!(all.collect::<Vec<_>>(), ["exact", "wild", "any"]);
}

/// Certificates and redirects ask for the hostnames of one scheme; the other's are none of theirs.
#[test]
fn hostnames_are_listed_by_scheme() {
    let table = table(&[("tls", "*.a.com"), ("any", "")], &[("clear", "b.com")]);
    let of = |scheme| {
        let mut hostnames: Vec<_> = table.hostnames(scheme).map(ToString::to_string).collect();
        hostnames.sort();
        hostnames
    };
    let shown = |patterns: &[&str]| {
        let mut shown: Vec<_> = patterns.iter().map(|text| HostPattern::parse(text).to_string()).collect();
        shown.sort();
        shown
    };
    assert_eq!(of(Scheme::Https), shown(&["*.a.com", ""]));
    assert_eq!(of(Scheme::Http), shown(&["b.com"]));
}

#[test]
fn a_connection_without_server_name_is_for_the_listener_without_hostname() {
    let with_any = table(&[("any", ""), ("a", "a.com")], &[]);
    assert_eq!(name(with_any.listener_for_sni(None)).as_deref(), Some("any"));
    assert_eq!(name(with_any.listener_for_sni(Some("a.com"))).as_deref(), Some("a"));
    assert_eq!(name(with_any.listener_for_sni(Some("b.com"))).as_deref(), Some("any"));
    let without = table(&[("a", "a.com")], &[("clear", "")]);
    assert_eq!(name(without.listener_for_sni(None)), None);
    assert_eq!(name(without.listener_for_sni(Some("b.com"))), None);
}

/// RFC 9110 §15.5.20: 421 only where another listener serves the host; else the connection's own, or 404.
#[test]
fn a_host_of_another_listener_is_misdirected() {
    let table = table(&[("wild", "*.a.com"), ("own", "b.a.com")], &[("clear", "c.com")]);
    let connection = |server_name| table.listener_for_sni(Some(server_name)).unwrap().listener();
    let on = |server_name, host| table.listener_on_connection(connection(server_name), host).map(name);
    assert_eq!(on("x.a.com", "x.a.com"), Ok(Some("wild".into())));
    assert_eq!(on("x.a.com", "y.a.com"), Ok(Some("wild".into())));
    assert_eq!(on("x.a.com", "b.a.com"), Err(Misdirected));
    assert_eq!(on("b.a.com", "x.a.com"), Err(Misdirected));
    assert_eq!(on("x.a.com", "other.com"), Ok(None));
    assert_eq!(on("x.a.com", "c.com"), Ok(None)); // listeners in clear take no part
}
