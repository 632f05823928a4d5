//! Client certificates: whom a guarded listener lets in, what backends are told, and what becomes of those who would
//! get in no more.

use std::io::{Read, Write};
use std::sync::Arc;

use portcullis_model::{
    CaSet, Certificate, ClientMode, ClientValidation, ListenerProtocol, TlsOptions, TlsServer,
};
use rustls::HandshakeKind;
use rustls::client::Resumption;

use crate::support::http2::{GET, frame, goaway, preface};
use crate::support::tls::{Authority, TlsClient, connect};
use crate::support::{Backend, Gateway, Rules, Running, eventually, fields};

/// HTTPS for `a.test` that lets in whom these authorities vouch for.
fn guarded(server: &Arc<Certificate>, mode: ClientMode, by: &[&Authority]) -> ListenerProtocol {
    let set = CaSet::new(by.iter().map(|authority| authority.bundle()).collect()).unwrap();
    let clients = Some(Arc::new(ClientValidation { mode, authorities: Arc::new(set) }));
    protocol(server, clients)
}

fn protocol(server: &Arc<Certificate>, clients: Option<Arc<ClientValidation>>) -> ListenerProtocol {
    let certificates = vec![Arc::clone(server)];
    ListenerProtocol::Https(Some(Arc::new(TlsServer {
        certificates,
        options: TlsOptions::default(),
        clients,
    })))
}

fn gateway(listener: ListenerProtocol, backend: &Backend) -> Gateway {
    Gateway::new()
        .listener("a.test", listener, Rules::new().to("/", "web"))
        .backend("web", &[backend.address])
}

/// A client of HTTP/1.1 with a certificate, or without.
fn client(running: &Running, server: &Authority, own: Option<&Certificate>) -> std::io::Result<TlsClient> {
    connect(running.address(), "a.test", server.client_showing(&["http/1.1"], own))
}

/// The answer's status; nothing if the connection breaks, which with TLS 1.3 it does only after the handshake.
fn status(client: std::io::Result<TlsClient>) -> Option<u16> {
    let mut client = client.ok()?;
    client.stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").ok()?;
    let mut head = [0; 12];
    client.stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head[9..]).unwrap().parse().ok()
}

#[test]
fn only_certificates_of_the_authorities_get_in() {
    let backend = Backend::named("web");
    let (server, one, two, other) = (Authority::new(), Authority::new(), Authority::new(), Authority::new());
    let certificate = server.server(&["a.test"]);
    let listener = guarded(&certificate, ClientMode::AllowValidOnly, &[&one, &two]);
    let running = Running::start(&gateway(listener, &backend));
    let of = |authority: &Authority| authority.client_certificate("c");
    assert_eq!(status(client(&running, &server, Some(&of(&one)))), Some(200));
    assert_eq!(status(client(&running, &server, Some(&of(&two)))), Some(200));
    assert_eq!(status(client(&running, &server, Some(&of(&other)))), None);
    assert_eq!(status(client(&running, &server, None)), None);
    let refused = "portcullis_refused_total{reason=\"client_certificate\"} 2";
    eventually(|| running.metrics().contains(refused).then_some(()));
}

#[test]
fn insecure_fallback_lets_everybody_in_and_vouches_for_the_valid_alone() {
    let backend = Backend::named("web");
    let (server, one, other) = (Authority::new(), Authority::new(), Authority::new());
    let certificate = server.server(&["a.test"]);
    let listener = guarded(&certificate, ClientMode::AllowInsecureFallback, &[&one]);
    let running = Running::start(&gateway(listener, &backend));
    for (own, told) in
        [(Some(one.client_certificate("c")), 1), (Some(other.client_certificate("c")), 0), (None, 0)]
    {
        assert_eq!(status(client(&running, &server, own.as_deref())), Some(200));
        assert_eq!(fields(&backend.head(), "x-forwarded-client-cert").len(), told, "{own:?}");
    }
}

/// docs/semantics.md §10: the field is ours; a client's own is believed only of trusted addresses.
#[test]
fn backends_are_told_who_the_client_is() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let own = authority.client_certificate("client one");
    let certificate = authority.server(&["a.test"]);
    let listener = guarded(&certificate, ClientMode::AllowValidOnly, &[&authority]);
    let mut options = Running::options();
    for (trusted, elements) in [(false, 1), (true, 2)] {
        if trusted {
            options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }
        let running = Running::with(&gateway(listener.clone(), &backend), options.clone());
        let mut client = client(&running, &authority, Some(&own)).unwrap();
        client.send("GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Client-Cert: Subject=\"CN=root\"\r\n\r\n");
        assert_eq!(client.answer().status, 200);
        let told = fields(&backend.head(), "x-forwarded-client-cert");
        assert_eq!(told.len(), 1);
        let list: Vec<&str> = told[0].split(", ").collect();
        assert_eq!(list.len(), elements, "{told:?}");
        let last = list.last().unwrap();
        assert!(last.starts_with("Hash=") && last.ends_with(";Subject=\"CN=client one\""), "{last}");
    }
}

/// A ticket that passed from an open listener to a guarded one would pass its guard.
#[test]
fn a_ticket_of_an_open_listener_is_worth_nothing_at_a_guarded_one() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let certificate = authority.server(&["a.test", "b.test"]);
    let open = protocol(&certificate, None);
    let strict = guarded(&certificate, ClientMode::AllowValidOnly, &[&authority]);
    let mut running = Running::start(&gateway(open, &backend));
    let mut config = authority.client_showing(&["http/1.1"], None);
    config.resumption = Resumption::in_memory_sessions(8);
    let get = |running: &Running| {
        let mut client = connect(running.address(), "a.test", config.clone()).unwrap();
        assert_eq!(client.get("a.test", "/").status, 200);
        client.stream.conn.handshake_kind()
    };
    assert_eq!(get(&running), Some(HandshakeKind::Full));
    assert_eq!(get(&running), Some(HandshakeKind::Resumed));
    running.apply(&gateway(strict, &backend).model());
    assert_eq!(status(connect(running.address(), "a.test", config.clone())), None);
}

/// The same listener under other authorities: what a session showed once is not enough.
#[test]
fn a_session_does_not_outlive_the_authority_that_admitted_it() {
    let backend = Backend::named("web");
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.server(&["a.test"]);
    let own = authority.client_certificate("c");
    let listener = |by: &[&Authority]| guarded(&certificate, ClientMode::AllowValidOnly, by);
    let mut running = Running::start(&gateway(listener(&[&authority]), &backend));
    let mut config = authority.client_showing(&["http/1.1"], Some(&own));
    config.resumption = Resumption::in_memory_sessions(8);
    let kind = |running: &Running| {
        let mut client = connect(running.address(), "a.test", config.clone()).unwrap();
        assert_eq!(client.get("a.test", "/").status, 200);
        client.stream.conn.handshake_kind()
    };
    assert_eq!(kind(&running), Some(HandshakeKind::Full));
    assert_eq!(kind(&running), Some(HandshakeKind::Resumed));
    running.apply(&gateway(listener(&[&authority, &other]), &backend).model());
    assert_eq!(kind(&running), Some(HandshakeKind::Full), "keys are renewed with the authorities");
    running.apply(&gateway(listener(&[&other]), &backend).model());
    assert_eq!(status(connect(running.address(), "a.test", config.clone())), None);
}

/// An idle connection ends, one with a request after its answer, and both without a word too many.
#[test]
fn a_removed_authority_ends_the_connections_that_it_admitted() {
    let (go, gone) = std::sync::mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let backend = Backend::scripted(move |connection| {
        while let Some(head) = connection.request() {
            if head.starts_with("GET /late") {
                gone.lock().unwrap().recv().unwrap();
            }
            connection.answer("web");
        }
    });
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.server(&["a.test"]);
    let own = authority.client_certificate("c");
    let listener = |by: &[&Authority]| guarded(&certificate, ClientMode::AllowValidOnly, by);
    let mut options = Running::options();
    options.limits.drain_idle_timeout = std::time::Duration::from_millis(50);
    let mut running = Running::with(&gateway(listener(&[&authority, &other]), &backend), options);
    let mut idle = client(&running, &authority, Some(&own)).unwrap();
    let mut stays = client(&running, &authority, Some(&other.client_certificate("c"))).unwrap();
    assert_eq!(idle.get("a.test", "/").status, 200);
    backend.head();
    let mut busy = client(&running, &authority, Some(&own)).unwrap();
    busy.send("GET /late HTTP/1.1\r\nHost: a.test\r\n\r\n");
    backend.head();
    running.apply(&gateway(listener(&[&other]), &backend).model());
    let mut rest = Vec::new();
    idle.stream.read_to_end(&mut rest).ok();
    assert_eq!(rest, b"");
    go.send(()).unwrap();
    let answer = busy.answer();
    assert_eq!((answer.status, answer.body.as_str()), (200, "web"));
    assert_eq!(answer.header("connection"), Some("close"));
    let answer = stays.get("a.test", "/");
    assert_eq!((answer.status, answer.header("connection")), (200, None));
}

/// What does not end by itself is cut in the end.
#[test]
fn what_an_authority_admitted_ends_at_last() {
    let backend = Backend::silent();
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.server(&["a.test"]);
    let listener = |by: &Authority| guarded(&certificate, ClientMode::AllowValidOnly, &[by]);
    let mut options = Running::options();
    options.limits.revoked_client_time = std::time::Duration::from_millis(100);
    let mut running = Running::with(&gateway(listener(&authority), &backend), options);
    let mut busy = client(&running, &authority, Some(&authority.client_certificate("c"))).unwrap();
    busy.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    backend.head();
    running.apply(&gateway(listener(&other), &backend).model());
    let mut rest = Vec::new();
    busy.stream.read_to_end(&mut rest).ok();
    assert_eq!(rest, b"");
}

/// RFC 9110 §15.5.20: a client that connected when nobody was asked for a certificate is sent to connect anew.
#[test]
fn a_connection_from_before_the_demand_is_misdirected() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let certificate = authority.server(&["a.test"]);
    let mut running = Running::start(&gateway(protocol(&certificate, None), &backend));
    let mut before = client(&running, &authority, None).unwrap();
    assert_eq!(before.get("a.test", "/").status, 200);
    let strict = guarded(&certificate, ClientMode::AllowValidOnly, &[&authority]);
    running.apply(&gateway(strict, &backend).model());
    assert_eq!(before.get("a.test", "/").status, 421);
    running.apply(&gateway(protocol(&certificate, None), &backend).model());
    assert_eq!(before.get("a.test", "/").status, 200);
}

/// RFC 9113 §6.8: HTTP/2 is told with GOAWAY, and its streams end.
#[test]
fn http2_is_told_to_go() {
    let (backend, go) = Backend::late();
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.server(&["a.test"]);
    let listener = |by: &Authority| guarded(&certificate, ClientMode::AllowValidOnly, &[by]);
    let of = |by: &Authority| {
        let rules = Rules::new().to("/", "web");
        Gateway::new().listener("", listener(by), rules).backend("web", &[backend.address]).model()
    };
    let mut options = Running::options();
    options.limits.drain_idle_timeout = std::time::Duration::from_millis(50);
    let mut running = Running::idle(options);
    running.apply(&of(&authority));
    let own = authority.client_certificate("c");
    let config = authority.client_showing(&["h2"], Some(&own));
    let mut client = connect(running.address(), "a.test", config).unwrap();
    client.send([preface(), frame(1, 5, 1, GET)].concat());
    backend.head();
    running.apply(&of(&other));
    go.send(()).unwrap();
    let mut said = Vec::new();
    client.stream.read_to_end(&mut said).ok();
    assert_eq!(goaway(&said), Some(0));
    assert!(said.windows(4).any(|window| window == b"late"), "the stream ended as it should");
}
