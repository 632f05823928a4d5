//! A client's handshake, and whether it gets in.

use std::rc::Rc;

use quinn::{Connecting, Connection, ConnectionError};
use quinn_proto::{TransportError, TransportErrorCode};
use rustls_pki_types::CertificateDer;

use super::frame::Code;
use crate::reason::Reason;
use crate::tls::{Admission, Chosen};

/// TLS alerts that are about a client's certificate (RFC 8446 §6.2): from `bad_certificate` to `decrypt_error`, and
/// `certificate_required`.
const CERTIFICATE_ALERTS: [u8; 9] = [42, 43, 44, 45, 46, 48, 49, 51, 116];

/// A connection, the listener that it is for, and how its client got in if that is guarded.
pub(super) type Established = (Connection, Chosen, Option<Rc<Admission>>);

/// A connection after its handshake; no reason where it was refused for one that is counted already.
pub(super) async fn establish(connecting: Connecting) -> Result<Established, Option<Reason>> {
    let quic = connecting.await.map_err(|error| refusal(&error))?;
    let chosen = quic.handshake_data().and_then(|data| data.downcast::<Chosen>().ok());
    let chosen = *chosen.ok_or(Some(Reason::Internal))?;
    let identity =
        quic.peer_identity().and_then(|chain| chain.downcast::<Vec<CertificateDer<'static>>>().ok());
    let chain = identity.map(|chain| *chain).unwrap_or_default();
    let admission = chosen.tls.admit(&chosen.listener.id, &chain).transpose();
    let admission = admission.inspect_err(|_| quic.close(Code::Internal.into(), b""))?;
    Ok((quic, chosen, admission.map(Rc::new)))
}

/// Why a handshake failed; none where the handshake itself was told.
pub(super) fn refusal(error: &ConnectionError) -> Option<Reason> {
    let is_about_certificate =
        |code| CERTIFICATE_ALERTS.iter().any(|alert| TransportErrorCode::crypto(*alert) == code);
    match error {
        ConnectionError::TransportError(TransportError { code, .. }) => match *code {
            TransportErrorCode::CONNECTION_REFUSED => None,
            code if is_about_certificate(code) => Some(Reason::ClientCertificate),
            _ => Some(Reason::TlsHandshake),
        },
        ConnectionError::TimedOut => Some(Reason::ClientTimeout),
        _ => Some(Reason::TlsHandshake),
    }
}
