//! A handshake that has its settings from the listener that its server name chooses.
//!
//! quinn asks for the settings of a handshake before anything of it has been read. So a session begins with none: it
//! keeps the ClientHello until that is whole, and goes on with those of the listener.

use std::any::Any;
use std::sync::Arc;

use portcullis_model::BindAddress;
use quinn::crypto::{
    self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, UnsupportedVersion,
};
use quinn::{ConnectionId, Side};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{TransportError, TransportErrorCode};
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::quic::Suite;
use rustls::server::{Acceptor, ResolvesServerCertUsingSni, ServerConfig};

use crate::reason::Reason;
use crate::shared::Shared;
use crate::telemetry::WorkerMetrics;
use crate::tls::{Chosen, choose};

/// The largest ClientHello, in bytes: as much as a TLS record holds (RFC 8446 §5.1). With post-quantum key shares and a
/// ticket one has two kilobytes.
const HELLO: usize = 1 << 14;
/// The type of the handshake's first message, and of a TLS record that holds one (RFC 8446 §4, §5.1).
const CLIENT_HELLO: u8 = 1;
const HANDSHAKE_RECORD: u8 = 22;

/// The suite of the first packets (RFC 9001 §5.2).
fn initial_suite() -> Result<Suite, rustls::Error> {
    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
    suite.ok_or(rustls::Error::General("AES-128-GCM cannot protect QUIC packets".into()))
}

/// How handshakes at a port are begun.
pub(super) struct Crypto {
    shared: Arc<Shared>,
    metrics: Arc<WorkerMetrics>,
    address: BindAddress,
    suite: Suite,
    /// Settings of no listener, for what is the same under all.
    blank: Arc<QuicServerConfig>,
}

impl Crypto {
    pub(super) fn new(
        shared: &Arc<Shared>,
        metrics: &Arc<WorkerMetrics>,
        address: BindAddress,
    ) -> Result<Crypto, rustls::Error> {
        let suite = initial_suite()?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
        let blank = Arc::new(quic(Arc::new(config), suite)?);
        let (shared, metrics) = (Arc::clone(shared), Arc::clone(metrics));
        Ok(Crypto { shared, metrics, address, suite, blank })
    }

    /// The listener for which a client asks, by its whole ClientHello.
    fn choose(&self, hello: &[u8]) -> Result<(Chosen, QuicServerConfig), Reason> {
        let length = u16::try_from(hello.len()).map_err(|_| Reason::TlsHandshake)?.to_be_bytes();
        let record = [&[HANDSHAKE_RECORD, 3, 3], &length[..], hello].concat();
        let mut acceptor = Acceptor::default();
        let mut rest = record.as_slice();
        while !rest.is_empty() {
            acceptor.read_tls(&mut rest).map_err(|_| Reason::TlsHandshake)?;
        }
        let accepted = acceptor.accept().ok().flatten().ok_or(Reason::TlsHandshake)?;
        let config = self.shared.config();
        let served = config.ports.get(&self.address).ok_or(Reason::NoListener)?;
        let chosen = choose(served, &accepted.client_hello())?;
        let config = quic(Arc::clone(&chosen.config), self.suite).map_err(|_| Reason::Internal)?;
        Ok((chosen, config))
    }
}

fn quic(config: Arc<ServerConfig>, suite: Suite) -> Result<QuicServerConfig, rustls::Error> {
    let config = QuicServerConfig::with_initial(config, suite);
    config.map_err(|error| rustls::Error::General(error.to_string()))
}

impl crypto::ServerConfig for Crypto {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.blank.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.blank.retry_tag(version, id, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        let inner = Arc::clone(&self.blank).start_session(version, params);
        Box::new(Session {
            crypto: self,
            version,
            params: *params,
            hello: Some(Vec::new()),
            inner,
            chosen: None,
        })
    }
}

/// A handshake and what comes of it.
struct Session {
    crypto: Arc<Crypto>,
    version: u32,
    params: TransportParameters,
    /// The ClientHello as far as it has come; nothing once it was whole.
    hello: Option<Vec<u8>>,
    inner: Box<dyn crypto::Session>,
    chosen: Option<Chosen>,
}

/// What a client that nobody serves is told: nothing that a scan could learn from.
fn refused() -> TransportError {
    TransportError { code: TransportErrorCode::CONNECTION_REFUSED, frame: None, reason: String::new() }
}

/// Whether a ClientHello is whole (RFC 8446 §4).
///
/// # Errors
/// If it is none, or too large.
fn is_whole(hello: &[u8]) -> Result<bool, Reason> {
    match hello {
        [] => Ok(false),
        [CLIENT_HELLO, high, middle, low, rest @ ..] => {
            let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            if length > HELLO - 4 { Err(Reason::TlsHandshake) } else { Ok(rest.len() >= length) }
        }
        [CLIENT_HELLO, ..] => Ok(false),
        _ => Err(Reason::TlsHandshake),
    }
}

impl Session {
    /// Goes on with the settings of the listener for which the client asks.
    fn begin(&mut self, hello: &[u8]) -> Result<(), TransportError> {
        let (chosen, config) = self.crypto.choose(hello).map_err(|reason| self.refuse(reason))?;
        self.inner = crypto::ServerConfig::start_session(Arc::new(config), self.version, &self.params);
        self.chosen = Some(chosen);
        Ok(())
    }

    fn refuse(&self, reason: Reason) -> TransportError {
        self.crypto.metrics.refused(reason);
        refused()
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    /// What was [`Chosen`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()?;
        Some(Box::new(self.chosen.clone()?))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let Some(mut hello) = self.hello.take() else { return self.inner.read_handshake(bytes) };
        hello.extend_from_slice(bytes);
        if !is_whole(&hello).map_err(|reason| self.refuse(reason))? {
            self.hello = Some(hello);
            return Ok(false);
        }
        self.begin(&hello)?;
        self.inner.read_handshake(&hello)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(bytes)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_whole_when_as_much_has_come_as_it_says() {
        for (hello, whole) in [
            (&b""[..], Ok(false)),
            (b"\x01\x00\x00", Ok(false)),
            (b"\x01\x00\x00\x02a", Ok(false)),
            (b"\x01\x00\x00\x02ab", Ok(true)),
            (b"\x02", Err(Reason::TlsHandshake)),
            (b"\x01\x00\x40\x00", Err(Reason::TlsHandshake)),
        ] {
            assert_eq!(is_whole(hello), whole, "{hello:?}");
        }
    }
}
