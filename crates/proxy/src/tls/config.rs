//! A listener's TLS settings, as rustls takes them.

use std::sync::Arc;

use portcullis_model::{Alpn, CipherSuite, Curve, ListenerId, TlsOptions, TlsServer, TlsVersion, Transport};
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::server::{ClientHello, NoClientAuth, NoServerSessionStorage, ProducesTickets, ServerConfig};
use rustls::{NamedGroup, SupportedCipherSuite, SupportedProtocolVersion};
use rustls_pki_types::CertificateDer;

use super::admission::Admission;
use super::certificates::Certificates;
use super::clients::Guard;
use crate::reason::Reason;

/// The application protocol of HTTP/3 (RFC 9114 §3.1).
const HTTP3: &[u8] = b"h3";

/// How a listener ends TLS, over TCP or within QUIC.
#[derive(Debug)]
pub(crate) struct TlsListener {
    /// One for each group, in order of preference. rustls chooses by the client's order, so each config has one
    /// group, and the config is chosen when the client's groups are known.
    by_group: Vec<(NamedGroup, Arc<ServerConfig>)>,
    /// The only application protocol, if there is just one: clients that name none are held to it.
    pub(crate) only: Option<Alpn>,
    /// Whom it lets in; nothing is everybody.
    pub(super) guard: Option<Guard>,
}

impl TlsListener {
    pub(super) fn new(
        server: &TlsServer,
        transport: Transport,
        tickets: &Arc<dyn ProducesTickets>,
    ) -> Result<TlsListener, rustls::Error> {
        let certificates = Arc::new(Certificates::new(server));
        let guard =
            server.clients.as_ref().map(|clients| Guard::new(clients, &server.options)).transpose()?;
        let by_group = server.options.curves.iter().map(|curve| {
            let group = group_of(*curve);
            let config = config(&server.options, transport, group, &certificates, guard.as_ref(), tickets);
            config.map(|config| (group.name(), config))
        });
        let only = match *server.options.alpn.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        let by_group = by_group.collect::<Result<_, _>>()?;
        Ok(TlsListener { by_group, only, guard })
    }

    /// How a client got in over QUIC, by the chain that it showed, if the listener is guarded. Whether its session was
    /// resumed is not told there, so that the chain is verified again.
    pub(crate) fn admit(
        &self,
        id: &ListenerId,
        chain: &[CertificateDer<'_>],
    ) -> Option<Result<Admission, Reason>> {
        self.guard.as_ref().map(|guard| Admission::new(id, guard, chain, false))
    }

    /// The config with the most preferred group that the client knows.
    pub(super) fn config(&self, hello: &ClientHello<'_>) -> Option<&Arc<ServerConfig>> {
        let known =
            |(group, _): &&(NamedGroup, _)| hello.named_groups().is_none_or(|groups| groups.contains(group));
        self.by_group.iter().find(known).or(self.by_group.first()).map(|(_, config)| config)
    }
}

fn config(
    options: &TlsOptions,
    transport: Transport,
    group: &'static dyn SupportedKxGroup,
    certificates: &Arc<Certificates>,
    guard: Option<&Guard>,
    tickets: &Arc<dyn ProducesTickets>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider =
        CryptoProvider { cipher_suites: suites(options), kx_groups: vec![group], ..default_provider() };
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(match transport {
            Transport::Tcp => versions(options),
            Transport::Udp => &ONLY_13, // QUIC knows no other (RFC 9001 §4.2)
        })?
        .with_client_cert_verifier(guard.map_or_else(|| Arc::new(NoClientAuth) as _, Guard::verifier))
        .with_cert_resolver(Arc::clone(certificates) as _);
    config.ignore_client_order = true;
    config.alpn_protocols = match transport {
        Transport::Tcp => options.alpn.iter().map(|alpn| protocol_of(*alpn).to_vec()).collect(),
        Transport::Udp => vec![HTTP3.to_vec()], // the options are about TLS alone
    };
    config.max_early_data_size = 0; // what is sent before the handshake can be sent again by anybody
    config.ticketer = Arc::clone(tickets);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

static ONLY_13: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];

/// The versions, the highest first.
pub(crate) fn versions(options: &TlsOptions) -> &'static [&'static SupportedProtocolVersion] {
    static ONLY_12: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS12];
    static BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
    match (options.min_version, options.max_version) {
        (TlsVersion::V1_2, TlsVersion::V1_2) => &ONLY_12,
        (TlsVersion::V1_2, TlsVersion::V1_3) => &BOTH,
        (TlsVersion::V1_3, _) => &ONLY_13,
    }
}

/// Every suite of TLS 1.3, which the options do not touch, and those of TLS 1.2 that they name.
pub(crate) fn suites(options: &TlsOptions) -> Vec<SupportedCipherSuite> {
    let tls13 = [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
    ];
    tls13.into_iter().chain(options.cipher_suites.iter().map(|suite| suite_of(*suite))).collect()
}

fn suite_of(suite: CipherSuite) -> SupportedCipherSuite {
    match suite {
        CipherSuite::EcdheEcdsaAes128GcmSha256 => cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::EcdheRsaAes128GcmSha256 => cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::EcdheEcdsaChacha20Poly1305 => {
            cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        }
        CipherSuite::EcdheRsaChacha20Poly1305 => cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        CipherSuite::EcdheEcdsaAes256GcmSha384 => cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::EcdheRsaAes256GcmSha384 => cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    }
}

/// As rustls names a group.
pub(crate) fn group_of(curve: Curve) -> &'static dyn SupportedKxGroup {
    match curve {
        Curve::X25519MlKem768 => kx_group::X25519MLKEM768,
        Curve::X25519 => kx_group::X25519,
        Curve::P256 => kx_group::SECP256R1,
        Curve::P384 => kx_group::SECP384R1,
    }
}

fn protocol_of(alpn: Alpn) -> &'static [u8] {
    match alpn {
        Alpn::H2 => b"h2",
        Alpn::Http11 => b"http/1.1",
    }
}
