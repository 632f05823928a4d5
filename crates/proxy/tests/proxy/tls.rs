//! HTTPS: which listener and certificate, which settings, and where sessions resume.

use std::io::Read;
use std::sync::{Arc, Mutex};

use portcullis_model::{Alpn, Curve, ListenerProtocol, TlsOptions, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::{HandshakeKind, NamedGroup, ProtocolVersion};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::support::http2::{Http2, run};
use crate::support::tls::{Authority, TlsClient, connect, https};
use crate::support::{Backend, Client, Gateway, Rules, Running};

fn rules() -> Rules {
    Rules::new().to("/", "web")
}

fn leaf(client: &TlsClient) -> Vec<u8> {
    client.stream.conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn the_server_name_chooses_the_most_specific_listener() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let wide = authority.https(&["*.example.test"]);
    let narrow = authority.https(&["a.example.test"]);
    let narrow_leaf = match &narrow {
        ListenerProtocol::Https(Some(server)) => server.certificates[0].certified_key().cert[0].to_vec(),
        _ => unreachable!(),
    };
    let gateway = Gateway::new()
        .listener("*.example.test", wide, rules())
        .listener("a.example.test", narrow, rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.example.test").unwrap();
    assert_eq!(client.get("a.example.test", "/").body, "web");
    assert_eq!(leaf(&client), narrow_leaf);
    let mut client = authority.connect(running.address(), "b.example.test").unwrap();
    assert_eq!(client.get("b.example.test", "/").body, "web");
    assert_ne!(leaf(&client), narrow_leaf);
}

/// A name that no listener takes ends the connection without a byte, not even an alert.
#[test]
fn an_unknown_server_name_is_answered_with_a_close_alone() {
    let authority = Authority::new();
    let gateway = Gateway::new().listener("a.test", authority.https(&["a.test"]), Rules::new());
    let running = Running::start(&gateway);
    for name in ["b.test", "127.0.0.1"] {
        let mut config = authority.client(&[]);
        config.enable_sni = name == "b.test"; // an IP address is never sent as a server name
        let mut connection =
            rustls::ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_owned()).unwrap())
                .unwrap();
        let mut client = running.client();
        connection.write_tls(&mut client.stream).unwrap();
        let mut rest = Vec::new();
        let end = client.stream.read_to_end(&mut rest);
        assert!(end.is_ok() || end.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset);
        assert_eq!(rest, b"", "{name}");
    }
}

#[test]
fn without_a_server_name_the_hostless_listener_serves() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("", authority.https(&["127.0.0.1", "any.test"]), rules())
        .listener("a.test", authority.https(&["a.test"]), rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "127.0.0.1").unwrap();
    assert_eq!(client.get("any.test", "/").body, "web");
    assert_eq!(client.get("a.test", "/").status, 421);
}

/// RFC 9110 §15.5.20: a host that another listener serves is misdirected; one that none serves is not found.
#[test]
fn a_host_of_another_listener_is_misdirected() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", authority.https(&["a.test"]), rules())
        .listener("b.test", authority.https(&["b.test"]), rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(client.get("b.test", "/").status, 421);
    assert_eq!(client.get("c.test", "/").status, 404);
    assert_eq!(client.get("A.test:8443", "/").status, 200);
}

/// Clients of HTTP/2 ask for every host that the certificate names on one connection: what its listener serves is served,
/// what another listener serves is misdirected, and what none serves is not found. The connection lives.
#[test]
fn hosts_that_share_a_connection_are_served_misdirected_or_not_found() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let narrow = Rules::new().to("/", "web");
    let gateway = Gateway::new()
        .listener("*.a.test", authority.https(&["*.a.test", "own.b.test", "none.test"]), rules())
        .listener("own.a.test", authority.https(&["own.a.test"]), narrow)
        .listener("own.b.test", authority.https(&["own.b.test"]), rules())
        .http("none.test", rules()) // of another protocol: it serves no host of TLS connections
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    run(async {
        let mut client = Http2::over_tls(running.address(), "one.a.test", &authority).await;
        for (host, status) in [
            ("one.a.test", 200),
            ("two.a.test", 200),
            ("x.y.a.test", 200),
            ("own.a.test", 421),
            ("own.b.test", 421),
            ("none.test", 404),
            ("a.test", 404),
            ("Two.A.test:443", 200),
        ] {
            let request = http::Request::get(format!("https://{host}/")).body(()).unwrap();
            assert_eq!(client.send(request).await.unwrap().status(), status, "{host}");
        }
    });
}

/// A client that trusts the root alone needs every certificate in between.
#[test]
fn a_chain_is_shown_whole() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let protocol = https(vec![authority.intermediate().server(&["a.test"])], TlsOptions::default());
    let gateway = Gateway::new().listener("a.test", protocol, rules()).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(client.get("a.test", "/").body, "web");
    assert_eq!(client.stream.conn.peer_certificates().unwrap().len(), 2);
}

/// A listener without a usable certificate keeps its hostname from broader ones.
#[test]
fn a_listener_without_a_certificate_fails_its_handshakes_and_keeps_its_host() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("*.example.test", authority.https(&["*.example.test"]), rules())
        .listener("a.example.test", ListenerProtocol::Https(None), rules())
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    assert!(authority.connect(running.address(), "a.example.test").is_err());
    let mut client = authority.connect(running.address(), "b.example.test").unwrap();
    assert_eq!(client.get("b.example.test", "/").body, "web");
    assert_eq!(client.get("a.example.test", "/").status, 421);
}

/// Of several certificates: the one that names the host, then one that the client can verify, then the first.
#[test]
fn the_certificate_fits_the_name_and_then_the_client() {
    use rustls::SignatureScheme as Scheme;
    let authority = Authority::new();
    let rsa = authority.issue(&["a.test"], &rcgen::PKCS_RSA_SHA256);
    let ecdsa = authority.issue(&["a.test"], &rcgen::PKCS_ECDSA_P256_SHA256);
    let other = authority.issue(&["b.test"], &rcgen::PKCS_ECDSA_P256_SHA256);
    let der = |certificate: &Arc<portcullis_model::Certificate>| certificate.certified_key().cert[0].to_vec();
    let protocol = https(vec![other.clone(), rsa.clone(), ecdsa.clone()], TlsOptions::default());
    let running = Running::start(&Gateway::new().listener("", protocol, Rules::new()));
    let seen = |name, schemes: Option<&[Scheme]>| {
        let mut config = authority.client(&[]);
        if let Some(schemes) = schemes {
            let mut provider = rustls::crypto::aws_lc_rs::default_provider();
            let mapping = provider.signature_verification_algorithms.mapping;
            let kept: Vec<_> =
                mapping.iter().filter(|(scheme, _)| schemes.contains(scheme)).copied().collect();
            provider.signature_verification_algorithms.mapping = kept.leak();
            config = authority.client_with(provider);
        }
        leaf(&connect(running.address(), name, config).unwrap())
    };
    assert_eq!(seen("a.test", None), der(&rsa), "the first that fits");
    assert_eq!(seen("b.test", None), der(&other));
    assert_eq!(seen("a.test", Some(&[Scheme::ECDSA_NISTP256_SHA256])), der(&ecdsa));
}

/// rustls picks by the client's order; the listener's order of preference holds nevertheless.
#[test]
fn the_group_is_chosen_in_our_order() {
    let authority = Authority::new();
    let running = Running::start(&Gateway::new().listener("", authority.https(&["a.test"]), Rules::new()));
    let group = |groups: &[&'static dyn rustls::crypto::SupportedKxGroup]| {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        provider.kx_groups = groups.to_vec();
        let client = connect(running.address(), "a.test", authority.client_with(provider)).unwrap();
        client.stream.conn.negotiated_key_exchange_group().unwrap().name()
    };
    use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, X25519, X25519MLKEM768};
    assert_eq!(group(&[SECP256R1, X25519, X25519MLKEM768]), NamedGroup::X25519MLKEM768);
    assert_eq!(group(&[SECP256R1, X25519]), NamedGroup::X25519);
    assert_eq!(group(&[SECP256R1]), NamedGroup::secp256r1);
}

#[test]
fn versions_and_curves_follow_the_options() {
    let authority = Authority::new();
    let certificate = authority.issue(&["a.test"], &rcgen::PKCS_ECDSA_P256_SHA256);
    let old =
        TlsOptions { max_version: TlsVersion::V1_2, curves: vec![Curve::P384], ..TlsOptions::default() };
    let protocol = https(vec![certificate.clone()], old);
    let running = Running::start(&Gateway::new().listener("", protocol, Rules::new()));
    let client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!(client.stream.conn.protocol_version(), Some(ProtocolVersion::TLSv1_2));
    assert_eq!(client.stream.conn.negotiated_key_exchange_group().unwrap().name(), NamedGroup::secp384r1);
}

/// With one application protocol, others are refused even to clients that name none.
#[test]
fn one_application_protocol_binds_clients_that_name_none() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let certificate = authority.issue(&["a.test"], &rcgen::PKCS_ECDSA_P256_SHA256);
    for (alpn, serves_http1) in [(Alpn::H2, false), (Alpn::Http11, true)] {
        let options = TlsOptions { alpn: vec![alpn], ..TlsOptions::default() };
        let protocol = https(vec![certificate.clone()], options);
        let gateway = Gateway::new().listener("", protocol, rules()).backend("web", &[backend.address]);
        let running = Running::start(&gateway);
        let mut client = connect(running.address(), "a.test", authority.client(&[])).unwrap();
        client.send("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        assert_eq!(client.rest().starts_with("HTTP/1.1 200"), serves_http1, "{alpn:?}");
        let mut client = connect(running.address(), "a.test", authority.client(&[])).unwrap();
        client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        let answer = client.stream.sock.peek(&mut [0]).map(|_| client.exactly(9));
        let http2 = answer.is_ok_and(|frame| frame.as_bytes()[3] == 4);
        assert_eq!(http2, !serves_http1, "{alpn:?}");
    }
}

/// HTTP and HTTPS share a port, told apart by the first byte.
#[test]
fn http_and_https_share_a_port() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = Gateway::new()
        .http("", Rules::new().to("/clear", "web"))
        .listener("a.test", authority.https(&["a.test"]), Rules::new().to("/tls", "web"))
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = authority.connect(running.address(), "a.test").unwrap();
    assert_eq!((client.get("a.test", "/tls").status, client.get("a.test", "/clear").status), (200, 404));
    let mut client = running.client();
    assert_eq!((client.get("a.test", "/tls").status, client.get("a.test", "/clear").status), (404, 200));
}

#[test]
fn the_scheme_is_told_to_the_backend() {
    use crate::support::backend::fields;
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway =
        Gateway::new().listener("", authority.https(&["a.test"]), rules()).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    authority.connect(running.address(), "a.test").unwrap().get("a.test", "/");
    assert_eq!(fields(&backend.head(), "x-forwarded-proto"), ["https"]);
}

/// A client's store of sessions that offers every session to every server.
#[derive(Debug)]
pub(crate) struct Careless(ClientSessionMemoryCache);

impl Careless {
    pub(crate) fn new() -> Arc<Careless> {
        Arc::new(Careless(ClientSessionMemoryCache::new(64)))
    }
}

fn anyone() -> ServerName<'static> {
    ServerName::try_from("anyone.test").unwrap()
}

impl ClientSessionStore for Careless {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(anyone(), group);
    }
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&anyone())
    }
    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(anyone(), value);
    }
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&anyone())
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.0.remove_tls12_session(&anyone());
    }
    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(anyone(), value);
    }
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&anyone())
    }
}

/// A session resumes only where it began, on every worker there, and across configurations.
#[test]
fn a_session_resumes_only_where_it_began() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", authority.https(&["a.test"]), rules())
        .listener("b.test", authority.https(&["b.test"]), rules())
        .backend("web", &[backend.address])
        .also_at([127, 0, 0, 2]);
    let mut options = Running::options();
    options.workers = 2;
    let running = Running::with(&gateway, options);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut config = authority.client_for(version);
        config.resumption = Resumption::store(Careless::new());
        let kind = |address, name: &str| {
            let mut client = connect(address, name, config.clone()).unwrap();
            assert_eq!(client.get(name, "/").body, "web"); // tickets of TLS 1.3 come after the handshake
            client.stream.conn.handshake_kind().unwrap()
        };
        let (here, there) = (running.bound[0].1, running.bound[1].1);
        assert_ne!(here.ip(), there.ip());
        assert_eq!(kind(here, "a.test"), HandshakeKind::Full);
        for _ in 0..6 {
            assert_eq!(kind(here, "a.test"), HandshakeKind::Resumed, "{version:?}");
        }
        assert_ne!(kind(here, "b.test"), HandshakeKind::Resumed, "another listener, {version:?}");
        assert_eq!(kind(here, "b.test"), HandshakeKind::Resumed);
        assert_ne!(kind(there, "b.test"), HandshakeKind::Resumed, "another address, {version:?}");
    }
}

#[test]
fn a_new_certificate_serves_new_connections_and_ends_no_old_one() {
    let backend = Backend::named("web");
    let authority = Authority::new();
    let gateway = || {
        let protocol = authority.https(&["a.test"]);
        Gateway::new().listener("a.test", protocol, rules()).backend("web", &[backend.address])
    };
    let mut running = Running::start(&gateway());
    let mut old = authority.connect(running.address(), "a.test").unwrap();
    running.apply(&gateway().model());
    let new = authority.connect(running.address(), "a.test").unwrap();
    assert_ne!(leaf(&old), leaf(&new));
    assert_eq!(old.get("a.test", "/").body, "web");
}

#[test]
fn a_handshake_that_never_ends_is_ended() {
    let authority = Authority::new();
    let gateway = Gateway::new().listener("", authority.https(&["a.test"]), Rules::new());
    let running = Running::limited(&gateway, |limits| {
        limits.head_timeout = std::time::Duration::from_millis(100);
    });
    let mut client: Client = running.client();
    client.send(b"\x16\x03\x01");
    assert_eq!(client.rest(), "");
}

/// RFC 6066 §8: a client that asks gets the OCSP response that came with the certificate.
#[test]
fn an_ocsp_response_is_stapled() {
    #[derive(Debug)]
    struct Keeps(Arc<dyn ServerCertVerifier>, Mutex<Vec<u8>>);
    impl ServerCertVerifier for Keeps {
        fn verify_server_cert(
            &self,
            leaf: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            name: &ServerName<'_>,
            ocsp: &[u8],
            now: UnixTime,
        ) -> Result<ServerCertVerified, rustls::Error> {
            *self.1.lock().unwrap() = ocsp.to_vec();
            self.0.verify_server_cert(leaf, intermediates, name, &[], now)
        }
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            leaf: &CertificateDer<'_>,
            signed: &rustls::DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            self.0.verify_tls12_signature(message, leaf, signed)
        }
        fn verify_tls13_signature(
            &self,
            message: &[u8],
            leaf: &CertificateDer<'_>,
            signed: &rustls::DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            self.0.verify_tls13_signature(message, leaf, signed)
        }
        fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
            self.0.supported_verify_schemes()
        }
    }
    let authority = Authority::new();
    let response = [0x30, 0x03, 0x0a, 0x01, 0x00];
    let certificate = (*authority.server(&["a.test"])).clone().with_staple(&response);
    let listener = https(vec![Arc::new(certificate)], TlsOptions::default());
    let backend = Backend::named("web");
    let gateway = Gateway::new().listener("a.test", listener, rules()).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let keeps = Arc::new(Keeps(authority.server_verifier(), Mutex::default()));
    let mut config = authority.client(&["http/1.1"]);
    config.dangerous().set_certificate_verifier(Arc::clone(&keeps) as _);
    let mut client = connect(running.address(), "a.test", config).unwrap();
    assert_eq!(client.get("a.test", "/").body, "web");
    assert_eq!(*keeps.1.lock().unwrap(), response);
}
