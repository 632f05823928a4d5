//! TLS towards endpoints: one set of settings for each backend and client certificate, so that sessions resume
//! only where they began.

mod identity;
mod system;
mod verifier;

use std::io;
use std::sync::Arc;

use portcullis_model::{UpstreamProtocol, UpstreamTls};
use rustix::net::RecvFlags;
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::sign::SingleCertAndKey;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

pub(crate) use identity::Identity;

use self::verifier::Verifier;
use super::cluster::next_id;
use super::pool::Wish;
use super::socket::Socket;
use crate::reason::Reason;
use crate::tls::config;

/// A connection over TLS.
pub(crate) type TlsStream = tokio_rustls::client::TlsStream<Socket>;

/// How TLS is spoken to a backend's endpoints.
#[derive(Debug)]
pub(crate) struct TlsClient {
    /// Never the same for two of a process.
    pub(super) id: u64,
    config: Arc<ClientConfig>,
    /// The same, offering HTTP/1 alone.
    http1: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Why TLS to a backend cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetUpError {
    #[error("{0} cannot be a server name")]
    Name(String),
    #[error("the settings do not go together: {0}")]
    Settings(#[from] rustls::Error),
}

/// A handshake that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) reason: Reason,
    pub(super) why: String,
}

impl TlsClient {
    pub(crate) fn new(
        tls: &Arc<UpstreamTls>,
        protocol: UpstreamProtocol,
        identity: Option<&Identity>,
    ) -> Result<TlsClient, SetUpError> {
        let hostname = tls.hostname.as_str();
        let name = ServerName::try_from(hostname.to_owned());
        let name = name.map_err(|_| SetUpError::Name(hostname.to_owned()))?;
        let groups = tls.options.curves.iter().map(|curve| config::group_of(*curve));
        let provider = Arc::new(CryptoProvider {
            cipher_suites: config::suites(&tls.options),
            kx_groups: groups.collect(),
            ..default_provider()
        });
        let verifier = Arc::new(Verifier::new(tls));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(config::versions(&tls.options))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match identity {
            Some(identity) => {
                let shown = SingleCertAndKey::from((**identity.certificate().certified_key()).clone());
                builder.with_client_cert_resolver(Arc::new(shown))
            }
            None => builder.with_no_client_auth(),
        };
        let mut http1 = config.clone();
        config.alpn_protocols = offered(protocol).iter().map(|protocol| protocol.to_vec()).collect();
        http1.alpn_protocols = vec![HTTP1.to_vec()];
        Ok(TlsClient { id: next_id(), config: Arc::new(config), http1: Arc::new(http1), name })
    }

    /// Speaks TLS on a new connection.
    pub(super) async fn connect(&self, socket: Socket, wish: Wish) -> Result<Box<TlsStream>, Failed> {
        let config = match wish {
            Wish::Any => &self.config,
            Wish::Upgrade | Wish::WebSocket => &self.http1,
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let connected = Box::pin(connector.connect(self.name.clone(), socket)).await;
        connected.map(Box::new).map_err(|error| Failed { reason: reason(&error), why: error.to_string() })
    }
}

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// The application protocols that a backend is offered (RFC 7301).
fn offered(protocol: UpstreamProtocol) -> &'static [&'static [u8]] {
    match protocol {
        UpstreamProtocol::Http1 => &[HTTP2, HTTP1],
        UpstreamProtocol::Http2 => &[HTTP2],
        // What the client says is not ours to name.
        UpstreamProtocol::Tcp | UpstreamProtocol::Tls | UpstreamProtocol::Udp => &[],
    }
}

fn reason(error: &io::Error) -> Reason {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Reason::UpstreamCertificate
        }
        _ => Reason::UpstreamTls,
    }
}

/// Whether the endpoint has neither closed a connection nor sent anything that belongs to an answer. What is TLS's
/// own business, such as a ticket, is taken in.
pub(super) fn is_idle(stream: &mut TlsStream) -> bool {
    let (socket, session) = stream.get_mut();
    let mut bytes = [0u8; 2048];
    loop {
        let state = session.process_new_packets();
        if state.is_ok_and(|state| state.plaintext_bytes_to_read() > 0 || state.peer_has_closed()) {
            return false;
        }
        let received = match socket.recv(&mut bytes, RecvFlags::empty()) {
            Ok(0) => return false,
            Ok(received) => received,
            Err(error) => return error == rustix::io::Errno::AGAIN,
        };
        let mut received = bytes.get(..received).unwrap_or_default();
        while !received.is_empty() {
            if !matches!(session.read_tls(&mut received), Ok(1..)) || session.process_new_packets().is_err() {
                return false;
            }
        }
    }
}
