//! TLS listeners: connections that carry no requests, passed through or ended here, told apart by server name.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{
    Age, Alpn, CaSet, Hostname, L4Route, ListenerProtocol, TlsOptions, TlsServer, TlsVersion, Trust,
    UpstreamProtocol, UpstreamTls,
};
use rustls::ClientConnection;
use rustls_pki_types::ServerName;

use crate::support::backend::nobody;
use crate::support::model::{l4_route, origin};
use crate::support::tls::{Authority, TlsClient, connect, https};
use crate::support::tls_backend::{TlsBackend, config};
use crate::support::{Backend, Gateway, PATIENCE, Rules, Running, eventually};

/// A route by server name to one backend, whose TLS is passed through.
fn passed(name: &str, hostnames: &[&str], backend: &str) -> Arc<L4Route> {
    l4_route(name, hostnames, UpstreamProtocol::Tls, &[(backend, 1)])
}

/// A route by server name to one backend, for TLS that is ended here.
fn ended(name: &str, hostnames: &[&str], backend: &str) -> Arc<L4Route> {
    l4_route(name, hostnames, UpstreamProtocol::Tcp, &[(backend, 1)])
}

/// A listener that ends TLS with a certificate for these names, without ALPN of its own.
fn terminate(authority: &Authority, names: &[&str], routes: Vec<Arc<L4Route>>) -> ListenerProtocol {
    let options = TlsOptions { alpn: Vec::new(), ..TlsOptions::default() };
    let ListenerProtocol::Https(server) = https(vec![authority.server(names)], options) else {
        unreachable!()
    };
    ListenerProtocol::TlsTerminate(server, routes)
}

/// A backend that ends TLS itself and says its name.
fn tls_backend(authority: &Authority, name: &'static str, hosts: &[&str]) -> TlsBackend {
    TlsBackend::with(config(&authority.server(hosts), None), move |client| client.send(name))
}

/// A backend in clear that speaks first, then gives back what it gets in upper case.
fn plain_backend(name: &'static str) -> Backend {
    Backend::scripted(move |connection| {
        connection.write(name);
        let said = connection.rest();
        connection.write(said.to_uppercase());
    })
}

fn said(client: &mut TlsClient, length: usize) -> String {
    client.exactly(length)
}

/// A ClientHello for a server name, as it is sent.
fn hello(authority: &Authority, name: &str) -> Vec<u8> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(authority.client(&[])), name).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

/// That what was sent is answered with the connection's end or a reset, and not with a byte: no alert.
fn is_closed_by(running: &Running, bytes: &[u8]) {
    let mut stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    assert!(end.is_ok() || end.unwrap_err().kind() == io::ErrorKind::ConnectionReset);
    assert_eq!(rest, b"");
}

fn sessions(running: &Running, reason: &str) -> u64 {
    let name = format!("portcullis_sessions_total{{protocol=\"tls\",reason=\"{reason}\"}} ");
    running.metrics().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

#[test]
fn tls_is_passed_through_by_server_name() {
    let authority = Authority::new();
    let (a, b) = (tls_backend(&authority, "a", &["a.test"]), tls_backend(&authority, "b", &["x.b.test"]));
    let routes = vec![passed("a", &["a.test"], "a"), passed("b", &["*.b.test"], "b")];
    let gateway = Gateway::new()
        .below("", ListenerProtocol::TlsPassthrough(routes))
        .backend("a", &[a.address])
        .backend("b", &[b.address]);
    let running = Running::start(&gateway);
    for (name, expected) in [("a.test", "a"), ("A.test", "a"), ("x.b.test", "b")] {
        let mut client = authority.connect(running.address(), name).unwrap();
        assert_eq!(said(&mut client, 1), expected, "{name}");
    }
    assert_eq!(a.handshake().server_name.as_deref(), Some("a.test"));
    is_closed_by(&running, &hello(&authority, "c.test"));
    eventually(|| (sessions(&running, "no_rule") == 1).then_some(()));
}

/// The backend gets the ClientHello byte for byte, however many segments and records it comes in.
#[test]
fn a_fragmented_hello_arrives_as_it_was_sent() {
    let authority = Authority::new();
    let whole = hello(&authority, "a.test");
    let fragments: Vec<u8> = whole[5..]
        .chunks(40)
        .flat_map(|part| [&[22, 3, 1, 0, u8::try_from(part.len()).unwrap()][..], part].concat())
        .collect();
    for sent in [whole, fragments] {
        let length = sent.len();
        let backend = Backend::scripted(move |connection| {
            let got = connection.exactly_bytes(length);
            connection.write(got);
        });
        let listener = ListenerProtocol::TlsPassthrough(vec![passed("a", &["a.test"], "app")]);
        let gateway = Gateway::new().below("a.test", listener).backend("app", &[backend.address]);
        let running = Running::start(&gateway);
        let mut stream = TcpStream::connect(running.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        for part in sent.chunks(7) {
            stream.write_all(part).unwrap();
        }
        let mut echoed = vec![0; length];
        stream.read_exact(&mut echoed).unwrap();
        assert_eq!(echoed, sent);
    }
}

/// What is inside of ended TLS is passed on as it is; the backend may speak first, and either side end first.
#[test]
fn ended_tls_is_raw_inside() {
    let authority = Authority::new();
    let backend = plain_backend("hello");
    let listener = terminate(&authority, &["a.test"], vec![ended("a", &["a.test"], "app")]);
    let gateway = Gateway::new().below("*.test", listener).backend("app", &[backend.address]);
    let running = Running::start(&gateway);
    // A client's protocols are not ours to choose from: without an option, none is.
    let mut client = connect(running.address(), "a.test", authority.client(&["custom", "h2"])).unwrap();
    assert_eq!(client.stream.conn.alpn_protocol(), None);
    assert_eq!(said(&mut client, 5), "hello");
    client.send("what is this?");
    client.stream.conn.send_close_notify();
    client.stream.flush().unwrap();
    client.stream.sock.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    client.stream.read_to_string(&mut rest).unwrap(); // fails without a close_notify at the end
    assert_eq!(rest, "WHAT IS THIS?");
    eventually(|| (sessions(&running, "ok") == 1).then_some(()));
}

#[test]
fn a_guarded_backend_gets_what_was_ended_over_tls_of_its_own() {
    let (authority, inner) = (Authority::new(), Authority::new());
    let backend = tls_backend(&inner, "secret", &["inside.test"]);
    let policy = UpstreamTls {
        origin: origin("BackendTLSPolicy", "policy"),
        hostname: Hostname::new("inside.test").unwrap(),
        names: Vec::new(),
        trust: Trust::Given(Arc::new(CaSet::new(vec![inner.bundle()]).unwrap())),
        options: TlsOptions::default(),
    };
    let listener = terminate(&authority, &["a.test"], vec![ended("a", &["a.test"], "app")]);
    let gateway = Gateway::new().below("a.test", listener).backend("app", &[backend.address]);
    let running = Running::start(&gateway.tls("app", policy));
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(said(&mut client, 6), "secret");
    let handshake = backend.handshake();
    assert_eq!((handshake.server_name.as_deref(), handshake.alpn), (Some("inside.test"), None));
}

/// Both modes and HTTPS on one port, each with its names (TLSRouteModeMixed).
#[test]
fn one_port_has_both_modes_and_https() {
    let authority = Authority::new();
    let through = tls_backend(&authority, "through", &["through.test"]);
    let (raw, web) = (plain_backend("raw"), Backend::named("web"));
    let gateway = Gateway::new()
        .below(
            "through.test",
            ListenerProtocol::TlsPassthrough(vec![passed("t", &["through.test"], "through")]),
        )
        .below("end.test", terminate(&authority, &["end.test"], vec![ended("e", &["end.test"], "raw")]))
        .listener("web.test", authority.https(&["web.test"]), Rules::new().to("/", "web"))
        .backend("through", &[through.address])
        .backend("raw", &[raw.address])
        .backend("web", &[web.address]);
    let running = Running::start(&gateway);
    assert_eq!(said(&mut authority.connect(running.address(), "through.test").unwrap(), 7), "through");
    assert_eq!(said(&mut authority.connect(running.address(), "end.test").unwrap(), 3), "raw");
    let mut client = authority.connect(running.address(), "web.test").unwrap();
    assert_eq!(client.get("web.test", "/").body, "web");
    // Listeners below HTTP take no part in what is misdirected: their names are no hosts here.
    assert_eq!(client.get("end.test", "/").status, 404);
    is_closed_by(&running, &hello(&authority, "none.test"));
}

/// A TLS listener that has no route yet takes its own name from HTTPS beside it, and nothing else.
#[test]
fn a_listener_without_routes_takes_its_own_name_alone() {
    let authority = Authority::new();
    let web = Backend::named("web");
    let gateway = Gateway::new()
        .listener("", authority.https(&["web.test", "127.0.0.1"]), Rules::new().to("/", "web"))
        .below("through.test", ListenerProtocol::TlsPassthrough(Vec::new()))
        .below("end.test", terminate(&authority, &["end.test"], Vec::new()))
        .backend("web", &[web.address]);
    let running = Running::start(&gateway);
    for name in ["web.test", "127.0.0.1"] {
        let mut client = authority.connect(running.address(), name).unwrap();
        assert_eq!(client.get(name, "/").body, "web");
    }
    is_closed_by(&running, &hello(&authority, "through.test"));
    is_closed_by(&running, &hello(&authority, "end.test"));
}

/// Under a listener's wildcard each name is its own route's, in both modes, and no name another's.
#[test]
fn routes_below_one_wildcard_have_a_backend_each() {
    let authority = Authority::new();
    let (a, b) = (tls_backend(&authority, "a", &["a.d.local"]), tls_backend(&authority, "b", &["b.d.local"]));
    let (c, d) = (plain_backend("c"), plain_backend("d"));
    let through = vec![passed("a", &["a.d.local"], "a"), passed("b", &["b.d.local"], "b")];
    let end = vec![ended("c", &["c.e.local"], "c"), ended("d", &["d.e.local"], "d")];
    let gateway = Gateway::new()
        .below("*.d.local", ListenerProtocol::TlsPassthrough(through))
        .below("*.e.local", terminate(&authority, &["*.e.local"], end))
        .backend("a", &[a.address])
        .backend("b", &[b.address])
        .backend("c", &[c.address])
        .backend("d", &[d.address]);
    let running = Running::start(&gateway);
    for (name, expected) in [("a.d.local", "a"), ("b.d.local", "b"), ("c.e.local", "c"), ("d.e.local", "d")] {
        let mut client = authority.connect(running.address(), name).unwrap();
        assert_eq!(said(&mut client, 1), expected, "{name}");
    }
    for name in ["x.d.local", "x.e.local", "x.a.d.local"] {
        is_closed_by(&running, &hello(&authority, name));
    }
}

/// The route's own hostname decides, and among equals the oldest route.
#[test]
fn the_most_specific_route_takes_a_connection() {
    let authority = Authority::new();
    let names = ["wide", "narrow", "old"];
    let backends = names.map(|name| (name, plain_backend(name)));
    let mut old = ended("z", &["x.a.test"], "old");
    Arc::make_mut(&mut old).age = Age::created_at(1);
    let routes = vec![ended("w", &["*.test"], "wide"), ended("n", &["x.a.test", "*.a.test"], "narrow"), old];
    let listener = terminate(&authority, &["*.a.test", "b.test"], routes);
    let mut gateway = Gateway::new().below("", listener);
    for (name, backend) in &backends {
        gateway = gateway.backend(name, &[backend.address]);
    }
    let running = Running::start(&gateway);
    for (name, expected) in [("x.a.test", "old"), ("y.a.test", "narrow"), ("b.test", "wide")] {
        let mut client = authority.connect(running.address(), name).unwrap();
        assert_eq!(said(&mut client, expected.len()), expected, "{name}");
    }
}

/// Refusals are a close, in both modes: no alert says that somebody is there.
#[test]
fn what_leads_nowhere_is_closed_without_an_alert() {
    let authority = Authority::new();
    let through = |name: &str, backend: &str| passed(name, &[&format!("{name}.through.test")], backend);
    let end = |name: &str, backend: &str| ended(name, &[&format!("{name}.end.test")], backend);
    let zero = |name: &str| l4_route(name, &["zero.end.test"], UpstreamProtocol::Tcp, &[("dead", 0)]);
    let gateway = Gateway::new()
        .below(
            "*.through.test",
            ListenerProtocol::TlsPassthrough(vec![through("dead", "dead"), through("none", "none")]),
        )
        .below("*.end.test", terminate(&authority, &["*.end.test"], vec![end("none", "none"), zero("zero")]))
        .below("bare.test", ListenerProtocol::TlsTerminate(None, vec![ended("bare", &["bare.test"], "dead")]))
        .backend("dead", &[nobody()])
        .backend("none", &[]);
    let running = Running::start(&gateway);
    for name in [
        "dead.through.test",
        "none.through.test",
        "other.through.test",
        "other.end.test",
        "zero.end.test",
        "bare.test",
        "else.test",
    ] {
        is_closed_by(&running, &hello(&authority, name));
    }
    let client = authority.connect(running.address(), "none.end.test");
    let end = client.and_then(|mut client| client.stream.read(&mut [0; 1]));
    let kind = end.expect_err("neither a byte nor a close_notify").kind();
    assert!(matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset), "{kind:?}");
}

#[test]
fn what_is_no_hello_is_closed_and_one_that_is_late_too() {
    let authority = Authority::new();
    let listener = ListenerProtocol::TlsPassthrough(vec![passed("a", &["a.test"], "app")]);
    let gateway = Gateway::new().below("", listener).backend("app", &[nobody()]);
    let running = Running::limited(&gateway, |limits| {
        limits.head_timeout = Duration::from_millis(300);
        limits.client_hello_bytes = portcullis_proxy::Bytes(1024);
    });
    is_closed_by(&running, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    is_closed_by(&running, &hello(&authority, "a.test")[..100]);
    let endless: Vec<u8> = [&[22, 3, 1, 0x10, 0, 1, 0, 0x20, 0][..], &[0; 4000]].concat();
    is_closed_by(&running, &endless);
    let refused = |reason: &str| {
        running.metrics().contains(&format!("portcullis_refused_total{{reason=\"{reason}\"}}"))
    };
    assert!(refused("tls_handshake") && refused("client_timeout"));
}

/// A client without a server name is taken by routes for any host alone.
#[test]
fn without_a_server_name_a_route_without_hostnames_serves() {
    let authority = Authority::new();
    let backend = plain_backend("any");
    let listener = terminate(
        &authority,
        &["127.0.0.1"],
        vec![ended("a", &["a.test"], "none"), ended("any", &[""], "app")],
    );
    let gateway = Gateway::new().below("", listener).backend("app", &[backend.address]).backend("none", &[]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "127.0.0.1").unwrap();
    assert_eq!(said(&mut client, 3), "any");
}

/// `tls.options` hold for listeners that end TLS, ALPN among them where it is asked for.
#[test]
fn options_of_a_listener_that_ends_tls_hold() {
    let authority = Authority::new();
    let backend = plain_backend("x");
    let options = TlsOptions { alpn: vec![Alpn::H2], min_version: TlsVersion::V1_3, ..TlsOptions::default() };
    let server = TlsServer { certificates: vec![authority.server(&["a.test"])], options, clients: None };
    let listener =
        ListenerProtocol::TlsTerminate(Some(Arc::new(server)), vec![ended("a", &["a.test"], "app")]);
    let running = Running::start(&Gateway::new().below("", listener).backend("app", &[backend.address]));
    let client = connect(running.address(), "a.test", authority.client(&["http/1.1", "h2"])).unwrap();
    assert_eq!(client.stream.conn.alpn_protocol(), Some(&b"h2"[..]));
    assert!(connect(running.address(), "a.test", authority.client(&["other"])).is_err());
    assert!(connect(running.address(), "a.test", authority.client_for(&rustls::version::TLS12)).is_err());
}
