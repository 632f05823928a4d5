//! The handshake: the listener by server name, then its certificate and settings.

use std::io;
use std::sync::Arc;

use portcullis_model::{Alpn, Listener};
use rustls::HandshakeKind;
use rustls::server::{Acceptor, ClientHello, ServerConfig};
use tokio_rustls::LazyConfigAcceptor;

use super::admission::Admission;
use super::config::TlsListener;
use crate::reason::Reason;
use crate::stream::{Clear, Tls};
use crate::tables::ServedPort;

/// A connection after its handshake.
pub(crate) struct Established {
    pub(crate) stream: Box<Tls>,
    /// The listener that the server name chose; requests for another one's hosts are misdirected.
    pub(crate) listener: Arc<Listener>,
    /// The protocol to speak; none if the client named none and the listener leaves it open.
    pub(crate) alpn: Option<Alpn>,
    /// How the client got in, if the listener is guarded.
    pub(crate) admission: Option<Admission>,
}

/// Ends TLS on a connection. On an error the connection is to be dropped: for a server name that no listener takes
/// nothing has been written, not even an alert, so that a scan learns nothing.
pub(crate) async fn accept(served: &ServedPort, stream: Clear) -> Result<Established, Reason> {
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
    let start = start.map_err(|_| Reason::TlsHandshake)?;
    let Chosen { listener, tls, config } = choose(served, &start.client_hello())?;
    let stream = start.into_stream(config).await.map_err(|error| reason(&error))?;
    let session = stream.get_ref().1;
    let (guard, only) = (tls.guard.as_ref(), tls.only);
    let admission = guard.map(|guard| {
        let chain = session.peer_certificates().unwrap_or_default();
        let fresh = session.handshake_kind() != Some(HandshakeKind::Resumed);
        Admission::new(&listener.id, guard, chain, fresh)
    });
    let admission = admission.transpose()?;
    let alpn = match session.alpn_protocol() {
        Some(b"h2") => Some(Alpn::H2),
        Some(_) => Some(Alpn::Http11),
        None => only,
    };
    Ok(Established { stream: Box::new(stream), listener, alpn, admission })
}

/// What a client is for, by what it says first.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) listener: Arc<Listener>,
    pub(crate) tls: Arc<TlsListener>,
    /// The listener's settings for the group on which client and listener agree.
    pub(crate) config: Arc<ServerConfig>,
}

/// The listener for which a client asks, over TCP or QUIC, and its settings.
///
/// # Errors
/// When no listener takes the server name, or the one that does cannot serve it.
pub(crate) fn choose(served: &ServedPort, hello: &ClientHello<'_>) -> Result<Chosen, Reason> {
    let name = hello.server_name().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
    let listener = served.table.listener_for_sni(name.as_deref()).ok_or(Reason::UnknownServerName)?;
    let listener = Arc::clone(listener.listener());
    let tls = Arc::clone(served.tls.listener(&listener.id).ok_or(Reason::NoCertificate)?);
    let config = Arc::clone(tls.config(hello).ok_or(Reason::NoCertificate)?);
    Ok(Chosen { listener, tls, config })
}

fn reason(error: &io::Error) -> Reason {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Reason::ClientCertificate
        }
        _ => Reason::TlsHandshake,
    }
}
