//! TLS towards backends: whom the proxy believes, what it shows, and that nothing ever goes out in clear.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use portcullis_model::{
    AuthProtocol, CaSet, ExternalAuth, Filter, HostPattern, Hostname, ListenerFilters, ListenerProtocol,
    Mirror, MirrorShare, SubjectName, TlsOptions, TlsVersion, Trust, UpstreamTls,
};

use crate::auth::auth;
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::{cluster_key, requests, tcp_route};
use crate::support::tls::Authority;
use crate::support::tls_backend::{TlsBackend, config, request};
use crate::support::{Backend, Gateway, Rules, Running, eventually, fields, model::origin};

/// TLS to `name`, trusting what an authority issues.
fn tls(authority: &Authority, name: &str) -> UpstreamTls {
    UpstreamTls {
        origin: origin("BackendTLSPolicy", "policy"),
        hostname: Hostname::new(name).unwrap(),
        names: Vec::new(),
        trust: Trust::Given(Arc::new(CaSet::new(vec![authority.bundle()]).unwrap())),
        options: TlsOptions::default(),
    }
}

/// A proxy before one backend to which TLS is spoken.
fn before(backend: &TlsBackend, tls: UpstreamTls) -> Running {
    Running::start(&Gateway::to(backend.address).tls("web", tls))
}

fn get(running: &Running) -> (u16, String) {
    let answer = running.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    (answer.status, answer.body)
}

fn served() -> (u16, String) {
    (200, "web".to_owned())
}

#[test]
fn the_hostname_is_sent_and_expected() {
    let authority = Authority::new();
    let backend = TlsBackend::named("web", &authority.server(&["b.test"]));
    let running = before(&backend, tls(&authority, "b.test"));
    assert_eq!(get(&running), served());
    let handshake = backend.handshake();
    assert_eq!(handshake.server_name.as_deref(), Some("b.test"));
    assert_eq!(handshake.alpn.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(handshake.client, None);
}

/// One connection serves requests after each other, though tickets come on it that nobody asked for.
#[test]
fn connections_are_kept_and_sessions_resume() {
    let authority = Authority::new();
    let backend = TlsBackend::named("web", &authority.server(&["b.test"]));
    let running = before(&backend, tls(&authority, "b.test"));
    for _ in 0..3 {
        assert_eq!(get(&running), served());
    }
    assert!(!backend.handshake().resumed);
    assert!(backend.no_more_connections());
}

#[test]
fn a_backend_that_closes_is_connected_to_anew_with_its_session() {
    let authority = Authority::new();
    let certificate = authority.server(&["b.test"]);
    let backend = TlsBackend::with(config(&certificate, None), |client| {
        request(client);
        client.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nweb");
    });
    let running = before(&backend, tls(&authority, "b.test"));
    assert_eq!(get(&running), served());
    assert_eq!(get(&running), served());
    assert!(!backend.handshake().resumed);
    assert!(backend.handshake().resumed);
}

/// What an endpoint chooses by ALPN is spoken to it, and requests share its connection then.
#[test]
fn http2_is_spoken_to_an_endpoint_that_chooses_it() {
    let authority = Authority::new();
    let backend = Http2Backend::over_tls(config(&authority.server(&["b.test"]), None), "web");
    let running = Running::start(&Gateway::to(backend.address).tls("web", tls(&authority, "b.test")));
    for _ in 0..3 {
        assert_eq!(get(&running), served());
    }
    assert_eq!((backend.connections(), backend.streams()), (1, 3));
}

/// HTTP/2 has no upgrades: for them a connection of HTTP/1 is asked for, whatever the endpoint would choose else.
#[test]
fn an_upgrade_gets_a_connection_of_its_own_over_http1() {
    let authority = Authority::new();
    let mut config = config(&authority.server(&["b.test"]), None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let backend = TlsBackend::with(config, |client| {
        assert!(request(client));
        client
            .send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhi");
        client.rest();
    });
    let running = before(&backend, tls(&authority, "b.test"));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    assert!(client.until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    assert_eq!(client.exactly(2), "hi");
    assert_eq!(backend.handshake().alpn.as_deref(), Some(&b"http/1.1"[..]));
}

/// A backend that speaks HTTP/2 alone has to say so.
#[test]
fn a_backend_that_is_to_speak_http2_must_choose_it() {
    let authority = Authority::new();
    let backend = TlsBackend::named("web", &authority.server(&["b.test"]));
    let gateway = Gateway::new().http("", Rules::new().to("/", "web-h2c"));
    let gateway = gateway.backend("web-h2c", &[backend.address]).tls("web-h2c", tls(&authority, "b.test"));
    assert_eq!(get(&Running::start(&gateway)).0, 503);
    let backend = Http2Backend::over_tls(config(&authority.server(&["b.test"]), None), "web");
    assert_eq!(get(&Running::start(&gateway.backend("web-h2c", &[backend.address]))), served());
}

/// Never an answer of the backend, and never a request in clear.
#[test]
fn a_backend_that_does_not_prove_itself_gets_no_request() {
    let (authority, other) = (Authority::new(), Authority::new());
    let cases = [
        (authority.server(&["b.test"]), tls(&authority, "c.test")),
        (authority.server(&["b.test"]), tls(&other, "b.test")),
        (authority.server(&["b.test"]), UpstreamTls { trust: Trust::System, ..tls(&authority, "b.test") }),
        (
            authority.server(&["b.test"]),
            UpstreamTls {
                names: vec![SubjectName::Dns(HostPattern::parse("x.test"))],
                ..tls(&authority, "b.test")
            },
        ),
        (authority.server_called("b.test"), tls(&authority, "b.test")),
    ];
    for (certificate, tls) in cases {
        let backend = TlsBackend::named("web", &certificate);
        let running = before(&backend, tls.clone());
        let answer = running.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assert_eq!(answer.status, 503, "{tls:?}");
        assert!(backend.failure().contains("alert"), "{tls:?}");
        // A request is counted when its answer is gone.
        eventually(|| running.metrics().contains("reason=\"upstream_certificate\"} 1").then_some(()));
    }
}

#[test]
fn a_backend_in_clear_gets_no_request() {
    let backend = Backend::scripted(|connection| {
        connection.until("\u{1}"); // what comes is a ClientHello
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let authority = Authority::new();
    let running = Running::start(&Gateway::to(backend.address).tls("web", tls(&authority, "b.test")));
    assert_eq!(get(&running).0, 503);
    assert!(running.metrics().contains("reason=\"upstream_tls\"} 1"));
}

/// With names, the hostname is only sent (`BackendTLSPolicyValidation.subjectAltNames`).
#[test]
fn names_decide_instead_of_the_hostname() {
    let authority = Authority::new();
    let certificate = authority.server_with(&["b.test"], &["spiffe://one.test/web"]);
    let uri = |uri: &str| SubjectName::Uri(uri.into());
    let dns = |name: &str| SubjectName::Dns(HostPattern::parse(name));
    for (names, status) in [
        (vec![dns("x.test"), uri("spiffe://one.test/web")], 200),
        (vec![dns("b.test")], 200),
        (vec![dns("a.test"), uri("spiffe://one.test/other")], 503),
    ] {
        let backend = TlsBackend::named("web", &certificate);
        let running = before(&backend, UpstreamTls { names: names.clone(), ..tls(&authority, "a.test") });
        assert_eq!(get(&running).0, status, "{names:?}");
        if status == 200 {
            assert_eq!(backend.handshake().server_name.as_deref(), Some("a.test"));
        }
    }
}

/// docs/semantics.md: a backend with a certificate of its own needs no authority; its name is checked all the same.
#[test]
fn a_leaf_that_is_given_is_trusted() {
    let own = Authority::self_signed("b.test");
    let backend = TlsBackend::named("web", own.certificate());
    assert_eq!(get(&before(&backend, tls(&own, "b.test"))), served());
    assert_eq!(get(&before(&backend, tls(&own, "c.test"))).0, 503);
}

/// A handshake that fails is a failed connect: another endpoint is tried.
#[test]
fn a_failed_handshake_tries_one_more_endpoint() {
    let authority = Authority::new();
    let wrong = TlsBackend::named("wrong", &authority.server(&["x.test"]));
    let right = TlsBackend::named("web", &authority.server(&["b.test"]));
    let gateway = Gateway::new().http("", Rules::new().to("/", "web"));
    let gateway = gateway.backend("web", &[wrong.address, right.address]);
    let running = Running::start(&gateway.tls("web", tls(&authority, "b.test")));
    assert_eq!(get(&running), served());
    assert_eq!(get(&running), served());
}

/// A policy that comes takes effect at once, on pooled connections too; so do other authorities.
#[test]
fn what_changes_holds_for_the_next_request() {
    let (authority, other) = (Authority::new(), Authority::new());
    let clear = Backend::scripted(|connection| {
        if connection.number == 0 {
            connection.request();
            connection.answer("clear");
            connection.rest();
        } else {
            connection.write("no TLS here");
        }
    });
    let mut running = Running::start(&Gateway::to(clear.address));
    assert_eq!(get(&running), (200, "clear".to_owned()));
    running.apply(&Gateway::to(clear.address).tls("web", tls(&authority, "b.test")).model());
    assert_eq!(get(&running).0, 503);
    let backend = TlsBackend::named("web", &authority.server(&["b.test"]));
    running.apply(&Gateway::to(backend.address).tls("web", tls(&authority, "b.test")).model());
    assert_eq!(get(&running), served());
    running.apply(&Gateway::to(backend.address).tls("web", tls(&other, "b.test")).model());
    assert_eq!(get(&running).0, 503);
}

#[test]
fn versions_are_kept() {
    let authority = Authority::new();
    let certificate = authority.server(&["b.test"]);
    let backend = TlsBackend::with(config(&certificate, None), |_| ());
    let options = TlsOptions { max_version: TlsVersion::V1_2, ..TlsOptions::default() };
    let running = before(&backend, UpstreamTls { options, ..tls(&authority, "b.test") });
    assert_eq!(get(&running).0, 502, "the handshake is one of TLS 1.2, and the script closes");
    assert!(!backend.handshake().resumed);
}

/// RFC 9112 §9.8: an answer that ends with the connection, cut without a word, is not whole.
#[test]
fn an_answer_that_is_cut_is_not_taken_for_whole() {
    let authority = Authority::new();
    let certificate = authority.server(&["b.test"]);
    let backend = TlsBackend::with(config(&certificate, None), |client| {
        request(client);
        client.send("HTTP/1.1 200 OK\r\n\r\npart");
        // The socket closes without close_notify.
    });
    let running = before(&backend, tls(&authority, "b.test"));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let answer = client.rest();
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
}

/// `Gateway.spec.tls.backend.clientCertificateRef`: shown by the listeners of that Gateway alone, and a connection
/// of one Gateway never serves another's requests.
#[test]
fn each_gateway_shows_its_own_certificate() {
    let authority = Authority::new();
    let backend = TlsBackend::guarded("web", &authority.server(&["b.test"]), &authority);
    let (one, two) = (authority.client_certificate("one"), authority.client_certificate("two"));
    let leaf = |certificate: &portcullis_model::Certificate| certificate.certified_key().cert[0].to_vec();
    let rules = || Rules::new().to("/", "web");
    let gateway = Gateway::new()
        .http("one.test", rules())
        .client_certificate(Arc::clone(&one))
        .http("two.test", rules())
        .client_certificate(Arc::clone(&two))
        .http("none.test", rules())
        .backend("web", &[backend.address])
        .tls("web", tls(&authority, "b.test"));
    let mut running = Running::start(&gateway);
    let get = |running: &Running, host: &str| {
        running.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status
    };
    assert_eq!(get(&running, "one.test"), 200);
    assert_eq!(backend.handshake().client, Some(leaf(&one)));
    assert_eq!(get(&running, "two.test"), 200);
    assert_eq!(backend.handshake().client, Some(leaf(&two)));
    assert_ne!(get(&running, "none.test"), 200);
    assert!(backend.failure().contains("certificate"));
    // A certificate that is renewed is shown from then on.
    let renewed = authority.client_certificate("one");
    let gateway = Gateway::new()
        .http("one.test", rules())
        .client_certificate(Arc::clone(&renewed))
        .backend("web", &[backend.address])
        .tls("web", tls(&authority, "b.test"));
    running.apply(&gateway.model());
    assert_eq!(get(&running, "one.test"), 200);
    assert_eq!(backend.handshake().client, Some(leaf(&renewed)));
}

/// What is relayed is as large as it likes, both ways.
#[test]
fn large_bodies_pass_both_ways() {
    let authority = Authority::new();
    let certificate = authority.server(&["b.test"]);
    let body = "x".repeat(3_000_000);
    let sent = body.clone();
    let backend = TlsBackend::with(config(&certificate, None), move |client| {
        let head = client.until("\r\n\r\n");
        let len: usize = fields(&head, "content-length")[0].parse().unwrap();
        let received = client.exactly(len);
        client.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{received}"));
    });
    let running = before(&backend, tls(&authority, "b.test"));
    let mut client = running.client();
    client.send(format!("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {}\r\n\r\n", body.len()));
    client.send(&sent);
    let answer = client.answer();
    assert_eq!(answer.status, 200);
    assert!(answer.body == body);
}

#[test]
fn an_https_listener_encrypts_again() {
    let authority = Authority::new();
    let backend = TlsBackend::named("web", &authority.server(&["b.test"]));
    let front: ListenerProtocol = authority.https(&["a.test"]);
    let gateway = Gateway::new()
        .listener("a.test", front, Rules::new().to("/", "web"))
        .backend("web", &[backend.address])
        .tls("web", tls(&authority, "b.test"));
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(client.get("a.test", "/").body, "web");
    assert_eq!(backend.handshake().server_name.as_deref(), Some("b.test"));
}

/// A BackendTLSPolicy holds for mirrors, and for services that are asked about requests, by rules and by listeners.
#[test]
fn copies_and_questions_go_over_tls_too() {
    let authority = Authority::new();
    let web = Backend::named("web");
    let copy = TlsBackend::named("copy", &authority.server(&["copy.test"]));
    let asked = TlsBackend::named("asked", &authority.server(&["asked.test"]));
    let cluster = cluster_key("copy", requests("copy"));
    let mirror = Mirror { origin: origin("Service", "copy"), port: None, cluster, share: MirrorShare::ALL };
    let filters = vec![Filter::Auth(auth()), Filter::Mirror(mirror)];
    let gateway = |trusted: &Authority| {
        Gateway::new()
            .http("", Rules::new().to("/", "web").filters(filters.clone()))
            .filtered(ListenerFilters::Ask(vec![auth()]))
            .backend("web", &[web.address])
            .backend("copy", &[copy.address])
            .backend("auth", &[asked.address])
            .tls("copy", tls(trusted, "copy.test"))
            .tls("auth", tls(&authority, "asked.test"))
    };
    let running = Running::start(&gateway(&authority));
    assert_eq!(get(&running), served());
    assert_eq!(copy.handshake().server_name.as_deref(), Some("copy.test"));
    assert_eq!(asked.handshake().server_name.as_deref(), Some("asked.test"));
    assert!(asked.no_more_connections(), "the rule's question goes over the connection of the listener's");

    let stranger = Authority::new();
    let running = Running::start(&gateway(&stranger));
    assert_eq!(get(&running), served(), "a copy that cannot be sent costs nobody anything");
    assert!(copy.failure().contains("alert"));
    eventually(|| running.metrics().contains("portcullis_upstream_mirrors_lost_total 1\n").then_some(()));
    let running = Running::start(&gateway(&authority).tls("auth", tls(&stranger, "asked.test")));
    assert_eq!(get(&running).0, 503, "nothing passes without the word of a service that proves itself");
}

/// A service that is asked by gRPC has to choose HTTP/2 by ALPN.
#[test]
fn questions_by_grpc_go_over_tls_too() {
    let authority = Authority::new();
    let web = Backend::named("web");
    let mut settings = config(&authority.server(&["asked.test"]), None);
    settings.alpn_protocols = vec![b"h2".to_vec()];
    let service = Http2Backend::handling_over_tls(settings, |mut asked: Asked| async move {
        asked.body().await;
        let mut answer = asked.respond.send_response(http::Response::new(()), false).unwrap();
        answer.send_data(vec![0, 0, 0, 0, 0].into(), false).unwrap(); // `CheckResponse` without a field: granted
        let trailers = http::HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            http::HeaderValue::from_static("0"),
        )]);
        answer.send_trailers(trailers).unwrap();
    });
    let by_grpc = ExternalAuth {
        cluster: cluster_key("auth-h2c", requests("auth-h2c")),
        protocol: AuthProtocol::Grpc,
        ..auth()
    };
    let gateway = Gateway::new()
        .http("", Rules::new().to("/", "web").filters(vec![Filter::Auth(by_grpc)]))
        .backend("web", &[web.address])
        .backend("auth-h2c", &[service.address])
        .tls("auth-h2c", tls(&authority, "asked.test"));
    assert_eq!(get(&Running::start(&gateway)), served());
    assert_eq!(service.streams(), 1);
    let other = TlsBackend::named("asked", &authority.server(&["asked.test"]));
    let running = Running::start(&gateway.backend("auth-h2c", &[other.address]));
    assert_eq!(get(&running).0, 503, "who does not choose HTTP/2 is not asked");
}

/// A TCPRoute to a backend under a BackendTLSPolicy: what comes in clear leaves over TLS, whoever speaks and ends first.
#[test]
fn connections_in_clear_leave_over_tls() {
    let authority = Authority::new();
    let backend = TlsBackend::with(config(&authority.server(&["b.test"]), None), |client| {
        client.send("hello ");
        let said = client.exactly(3);
        client.send(said.to_uppercase());
        client.stream.conn.send_close_notify();
        let _ = client.stream.flush();
    });
    let gateway = Gateway::new()
        .below("", ListenerProtocol::Tcp(vec![tcp_route(&[("b", 1)])]))
        .backend("b", &[backend.address])
        .tls("b", tls(&authority, "b.test"));
    let running = Running::start(&gateway);
    let say = |running: &Running| {
        let mut stream = running.client().stream;
        stream.write_all(b"you").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        let end = stream.read_to_string(&mut answer);
        assert!(end.is_ok() || end.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset);
        answer
    };
    assert_eq!(say(&running), "hello YOU");
    let handshake = backend.handshake();
    assert_eq!((handshake.server_name.as_deref(), handshake.alpn), (Some("b.test"), None));
    let running = Running::start(&gateway.tls("b", tls(&Authority::new(), "b.test")));
    assert_eq!(say(&running), "", "who does not prove itself gets and says nothing");
    assert!(backend.failure().contains("alert"));
}
