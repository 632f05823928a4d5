//! A request of HTTP/2 as a head, by the validation that all versions share.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use h2::RecvStream;
use h2::ext::Protocol;
use http::request::Parts;
use portcullis_http1::{HeadError, HeadLimits, PseudoFields, RequestHead, Version};

use crate::limits::Limits;
use crate::reason::Reason;

/// The protocol to which a client of HTTP/2 may have its stream become a tunnel (RFC 8441).
const WEBSOCKET: &str = "websocket";

/// Why a head was not taken.
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) reason: Reason,
}

impl From<HeadError> for Refused {
    fn from(error: HeadError) -> Refused {
        let status = error.status();
        Refused { status, reason: if status == 431 { Reason::HeadTooLarge } else { Reason::BadRequest } }
    }
}

/// Reads a request into a head. `nonce` is for the key of a WebSocket (RFC 6455 §4.1), which HTTP/2 has none of.
pub(super) fn read(
    head: &mut RequestHead,
    parts: &Parts,
    body: &RecvStream,
    limits: &Limits,
    nonce: impl FnOnce() -> [u8; 16],
) -> Result<(), Refused> {
    let protocol = parts.extensions.get::<Protocol>().map(Protocol::as_str);
    let connect = parts.method == http::Method::CONNECT && protocol.is_none();
    // Without `:authority` (which Host may stand for, RFC 9113 §8.3.1) `h2` checks `:scheme` and does not tell it.
    let scheme = Some(parts.uri.scheme_str().unwrap_or("http").as_bytes());
    let path = parts.uri.path_and_query().map(|path| path.as_str().as_bytes());
    let pseudo = PseudoFields {
        method: parts.method.as_str().as_bytes(),
        scheme: scheme.filter(|_| !connect),
        authority: parts.uri.authority().map(|authority| authority.as_str().as_bytes()),
        path: path.filter(|_| !connect),
    };
    match protocol {
        None => head.start_multiplexed(Version::Http2, pseudo)?,
        Some(WEBSOCKET) => head.start_extended_connect(Version::Http2, pseudo, WEBSOCKET.as_bytes())?,
        Some(_) => return Err(Refused { status: 501, reason: Reason::Unsupported }),
    }
    for (name, value) in &parts.headers {
        head.fields.push(name.as_str().as_bytes(), value.as_bytes());
    }
    let limits = HeadLimits { block: limits.head_bytes.0, fields: limits.head_fields };
    head.finish_multiplexed(limits, body.is_end_stream())?;
    if protocol.is_some() {
        head.fields.set(b"sec-websocket-key", BASE64_STANDARD.encode(nonce()).as_bytes());
    }
    Ok(())
}
