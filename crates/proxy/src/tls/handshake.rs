//! The handshake: the listener by server name, then its certificate and settings.

use std::io;
use std::sync::Arc;

use portcullis_model::{Alpn, Listener};
use rustls::server::Acceptor;
use tokio_rustls::LazyConfigAcceptor;

use super::admission::Admission;
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
    let hello = start.client_hello();
    let name = hello.server_name().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
    let listener = served.table.listener_for_sni(name.as_deref()).ok_or(Reason::UnknownServerName)?;
    let listener = Arc::clone(listener.listener());
    let tls = served.tls.listener(&listener.id).ok_or(Reason::NoCertificate)?;
    let config = tls.config(&hello).ok_or(Reason::NoCertificate)?;
    let (config, only) = (Arc::clone(config), tls.only);
    let stream = start.into_stream(config).await.map_err(|error| reason(&error))?;
    let session = stream.get_ref().1;
    let guard = tls.guard.as_ref();
    let admission = guard.map(|guard| Admission::new(&listener.id, guard, session)).transpose()?;
    let alpn = match session.alpn_protocol() {
        Some(b"h2") => Some(Alpn::H2),
        Some(_) => Some(Alpn::Http11),
        None => only,
    };
    Ok(Established { stream: Box::new(stream), listener, alpn, admission })
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
