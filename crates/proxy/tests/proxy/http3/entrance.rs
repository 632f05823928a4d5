//! Who gets in over QUIC, by which listener, and how connections end.

use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{CaSet, ClientMode, ClientValidation, Curve, ListenerProtocol, TlsOptions, TlsServer};
use portcullis_proxy::Drain;
use quinn::ConnectionError;
use rustls::client::{ClientConfig, Resumption};

use super::{connect, gateway};
use crate::support::http3::{Http3, request};
use crate::support::tls::{Authority, http3, https};
use crate::support::{Backend, Gateway, Rules, Running, eventually, fields};
use crate::tls::Careless;

/// RFC 9114 §8.1.
const NO_ERROR: u64 = 0x100;

fn rules() -> Rules {
    Rules::new().to("/", "web")
}

/// What an attempt to get in ends with: the code with which the server closed, if it did.
fn refusal(connected: Result<Http3, ConnectionError>) -> Option<u64> {
    let error = match connected {
        Ok(client) => client.end(), // with TLS 1.3 a client is told only after its own handshake
        Err(error) => error,
    };
    match error {
        ConnectionError::ConnectionClosed(close) => Some(u64::from(close.error_code)),
        _ => None,
    }
}

#[test]
fn the_server_name_chooses_listener_certificate_and_settings() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let settings = TlsOptions { curves: vec![Curve::P384], ..TlsOptions::default() };
    let narrow = https(vec![authority.server(&["a.x.test"])], settings);
    let gateway = Gateway::new()
        .listener("*.x.test", http3(authority.https(&["*.x.test"])), rules())
        .listener("a.x.test", http3(narrow), rules())
        .listener("tcp.x.test", authority.https(&["tcp.x.test"]), rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let only = |group| {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let mut config =
            authority.client_with(rustls::crypto::CryptoProvider { kx_groups: vec![group], ..provider });
        config.alpn_protocols = vec![b"h3".to_vec()];
        config
    };
    use rustls::crypto::aws_lc_rs::kx_group::{SECP384R1, X25519};
    let get = |name: &str, config: ClientConfig| {
        Http3::connect(running.quic(), name, config).map(|client| client.get(name, "/").status)
    };
    assert_eq!(get("b.x.test", only(X25519)).unwrap(), 200);
    assert_eq!(get("a.x.test", only(SECP384R1)).unwrap(), 200);
    assert!(get("a.x.test", only(X25519)).is_err(), "the narrower listener has one curve");
    let refused = Http3::connect(running.quic(), "tcp.x.test", authority.client(&["h3"]));
    assert_eq!(refusal(refused), Some(2), "a listener for TCP alone keeps its name from the wider one");
    let client = Http3::connect(running.quic(), "b.x.test", authority.client(&["h3"])).unwrap();
    assert_eq!(client.get("a.x.test", "/").status, 421, "another listener's host");
    assert_eq!(client.get("tcp.x.test", "/").status, 421, "HTTPS and HTTP/3 count as one");
    assert_eq!(client.get("c.x.test", "/").status, 200);
}

/// RFC 9000 §20.1: CONNECTION_REFUSED, which says nothing of why.
#[test]
fn an_unknown_server_name_is_refused() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::start(&gateway(&authority, &backend));
    for name in ["b.test", "127.0.0.1"] {
        let refused = Http3::connect(running.quic(), name, authority.client(&["h3"]));
        assert_eq!(refusal(refused), Some(2), "{name}");
    }
    let counted = "portcullis_refused_total{reason=\"unknown_server_name\"} 2";
    eventually(|| running.metrics().contains(counted).then_some(()));
}

/// Where the socket has every address of the machine, too: clients take no packets from another (RFC 9000 §9).
#[test]
fn answers_come_from_the_address_that_was_asked() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    for (any, asked) in [("0.0.0.0", "127.0.0.2"), ("::", "::1")] {
        let running = Running::start(&gateway(&authority, &backend).at_any(any.parse().unwrap()));
        let address = (asked.parse::<std::net::IpAddr>().unwrap(), running.quic().port()).into();
        let client = Http3::connect(address, "a.test", authority.client(&["h3"])).unwrap();
        assert_eq!(client.get("a.test", "/").status, 200, "{asked}");
    }
}

/// A large hello, as one with a post-quantum key share and more comes, is more than a datagram.
#[test]
fn a_hello_of_several_datagrams_is_read_whole() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::start(&gateway(&authority, &backend));
    let mut config = authority.client(&["h3"]);
    config.alpn_protocols.extend((0..100u8).map(|more| vec![more; 50]));
    let client = Http3::connect(running.quic(), "a.test", config).unwrap();
    assert_eq!(client.get("a.test", "/").status, 200);
}

#[test]
fn other_application_protocols_are_refused() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::start(&gateway(&authority, &backend));
    let no_application_protocol = 0x178;
    for alpn in [&["h2"][..], &[]] {
        let refused = Http3::connect(running.quic(), "a.test", authority.client(alpn));
        assert_eq!(refusal(refused), Some(no_application_protocol), "{alpn:?}");
    }
}

fn guarded(name: &str, server: &Authority, by: &Authority) -> ListenerProtocol {
    let mode = ClientMode::AllowValidOnly;
    let authorities = Arc::new(CaSet::new(vec![by.bundle()]).unwrap());
    ListenerProtocol::Http3(Some(Arc::new(TlsServer {
        certificates: vec![server.server(&[name])],
        options: TlsOptions::default(),
        clients: Some(Arc::new(ClientValidation { mode, authorities })),
    })))
}

#[test]
fn a_guarded_listener_lets_in_whom_it_would_over_tcp() {
    let backend = Backend::named("web");
    let (server, one, other) = (Authority::new(), Authority::new(), Authority::new());
    let listener = guarded("a.test", &server, &one);
    let gateway = Gateway::new().listener("a.test", listener, rules()).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let own = one.client_certificate("client one");
    let with = |own| Http3::connect(running.quic(), "a.test", server.client_showing(&["h3"], own));
    let client = with(Some(&own)).unwrap();
    assert_eq!(client.get("a.test", "/").status, 200);
    let told = fields(&backend.head(), "x-forwarded-client-cert");
    assert!(told[0].contains("Subject=\"CN=client one\""), "{told:?}");
    let (certificate_required, decrypt_error) = (0x174, 0x133);
    assert_eq!(refusal(with(None)), Some(certificate_required));
    assert_eq!(
        refusal(with(Some(&other.client_certificate("c")))),
        Some(decrypt_error),
        "an authority of the same name"
    );
    let counted = "portcullis_refused_total{reason=\"client_certificate\"} 2";
    eventually(|| running.metrics().contains(counted).then_some(()));
}

/// What an authority has vouched for ends with it, and comes in no more.
#[test]
fn a_client_goes_with_its_authority() {
    let backend = Backend::named("web");
    let (server, one, other) = (Authority::new(), Authority::new(), Authority::new());
    let by = |authority| {
        let listener = guarded("a.test", &server, authority);
        Gateway::new().listener("a.test", listener, rules()).backend("web", &[backend.address])
    };
    let mut running = Running::start(&by(&one));
    let own = one.client_certificate("client one");
    let config = server.client_showing(&["h3"], Some(&own));
    let client = Http3::connect(running.quic(), "a.test", config.clone()).unwrap();
    assert_eq!(client.get("a.test", "/").status, 200);
    running.apply(&by(&other).model());
    assert_eq!(client.closed_with(), NO_ERROR);
    assert!(refusal(Http3::connect(running.quic(), "a.test", config)).is_some());
}

/// docs/semantics.md: a session resumes only where it began, and nothing is taken before the handshake (0-RTT).
#[test]
fn sessions_resume_where_they_began_and_carry_no_early_data() {
    let backend = Backend::named("web");
    let (server, clients) = (Authority::new(), Authority::new());
    let gateway = Gateway::new()
        .listener("*.x.test", http3(server.https(&["*.x.test"])), rules())
        .listener("a.x.test", guarded("a.x.test", &server, &clients), rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut config = server.client(&["h3"]);
    config.resumption = Resumption::in_memory_sessions(8);
    config.enable_early_data = true;
    let client = Http3::connect(running.quic(), "b.x.test", config.clone()).unwrap();
    assert_eq!(client.get("b.x.test", "/").status, 200);
    assert!(!client.allows_early_data(running.quic(), "b.x.test", config.clone()), "tickets allow none");
    // The session that began at the open listener is offered at the guarded one under its name.
    config.resumption = Resumption::store(Careless::new());
    Http3::connect(running.quic(), "b.x.test", config.clone()).unwrap().get("b.x.test", "/");
    let certificate_required = 0x174;
    let refused = Http3::connect(running.quic(), "a.x.test", config);
    assert_eq!(refusal(refused), Some(certificate_required));
}

/// RFC 9114 §5.2: the client is told to go elsewhere, what runs is answered, then the connection closes.
#[test]
fn a_drained_connection_answers_what_runs_and_closes() {
    let (backend, go) = Backend::late();
    let authority = Authority::new();
    let running = Running::start(&gateway(&authority, &backend));
    let client = connect(&running, &authority);
    let proxy = running.proxy;
    let draining = std::thread::spawn(move || {
        let drain = Drain { delay: Duration::ZERO, timeout: Duration::from_secs(10) };
        (proxy.drain(drain), proxy)
    });
    let answering = std::thread::spawn(move || {
        backend.head();
        go.send(()).unwrap();
    });
    let answer = client.exchange(request("GET", "a.test", "/"), b"", None).unwrap();
    assert_eq!(answer.text(), "late");
    assert_eq!(client.closed_with(), NO_ERROR);
    answering.join().unwrap();
    assert!(draining.join().unwrap().0, "nothing had to be cut");
}

/// A listener that is gone, or that has another certificate, is no longer the one to which a client is connected.
#[test]
fn connections_end_when_their_listener_goes_or_changes() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let mut running = Running::start(&gateway(&authority, &backend));
    let client = connect(&running, &authority);
    assert_eq!(client.get("a.test", "/").status, 200);
    running.apply(&gateway(&authority, &backend).model());
    assert_eq!(client.closed_with(), NO_ERROR, "another certificate");
    let client = connect(&running, &authority);
    assert_eq!(client.get("a.test", "/").status, 200);
    let over_tcp = Gateway::new()
        .listener("a.test", authority.https(&["a.test"]), rules())
        .backend("web", &[backend.address]);
    running.apply(&over_tcp.model());
    assert_eq!(client.closed_with(), NO_ERROR, "no HTTP/3 any more");
}

/// A port that is wanted again before its last connections have ended is the same port.
#[test]
fn a_listener_that_comes_back_is_served_at_once() {
    let (backend, go) = Backend::late();
    let authority = Authority::new();
    let listener = http3(authority.https(&["a.test"]));
    let gateway = |protocol: ListenerProtocol| {
        let rules = Rules::new().to("/late", "web");
        Gateway::new().listener("a.test", protocol, rules).backend("web", &[backend.address]).model()
    };
    let mut running = Running::idle(Running::options());
    running.apply(&gateway(listener.clone()));
    let held = Http3::connect(running.quic(), "a.test", authority.client(&["h3"])).unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| held.get("a.test", "/late"));
        backend.head();
        running.apply(&gateway(authority.https(&["a.test"])));
        running.proxy.apply(&gateway(listener));
        let report = running.reports.recv_timeout(crate::support::PATIENCE).unwrap();
        assert_eq!(report.result, Ok(running.quic()));
        let again = Http3::connect(running.quic(), "a.test", authority.client(&["h3"])).unwrap();
        go.send(()).unwrap();
        assert_eq!(asked.join().unwrap().text(), "late", "what ran goes on");
        assert_eq!(again.get("a.test", "/none").status, 404);
    });
}

/// A change elsewhere is no reason to go.
#[test]
fn connections_outlive_changes_that_are_not_about_them() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let listener = http3(authority.https(&["a.test"]));
    let with = |more: Option<&str>| {
        let gateway =
            Gateway::new().listener("a.test", listener.clone(), rules()).backend("web", &[backend.address]);
        more.map_or(gateway.clone(), |name| gateway.http(name, rules())).model()
    };
    let mut running = Running::idle(Running::options());
    running.apply(&with(None));
    let client = connect(&running, &authority);
    for change in 0..50 {
        running.apply(&with(Some(&format!("change-{change}.test"))));
        assert_eq!(client.get("a.test", "/").status, 200);
    }
}
