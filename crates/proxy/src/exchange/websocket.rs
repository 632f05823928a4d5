//! The opening handshake of WebSockets, where we take it with the backend for a client that has none.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use portcullis_http1::{Known, RequestHead, ResponseHead, Version};
use sha1::{Digest, Sha1};

/// What both sides of a handshake know besides its key (RFC 6455 §1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The name of the protocol, by which streams of HTTP/2 become tunnels for it (RFC 8441 §4).
const WEBSOCKET: &str = "websocket";

/// The protocol that a request wants to switch to, if that is WebSocket alone. An endpoint of HTTP/2 does not hear of
/// other upgrades, as any server may ignore them (RFC 9110 §7.8).
pub(super) fn wants(request: &RequestHead) -> Option<&'static str> {
    request.upgrade().filter(|upgrade| upgrade.eq_ignore_ascii_case(WEBSOCKET.as_bytes())).map(|_| WEBSOCKET)
}

/// Answers a request's key in the place of an endpoint of HTTP/2, which saw none.
pub(super) fn settle(request: &RequestHead, response: &mut ResponseHead) {
    response.fields.remove_known(Known::ContentLength); // a tunnel has no length
    if let Some(key) = request.fields.get(b"sec-websocket-key") {
        response.fields.set(b"sec-websocket-accept", accept(key).as_bytes());
    }
}

/// Whether a 101 answers the handshake that it follows (RFC 6455 §4.1).
///
/// A client of HTTP/1.1 made the key, and judges the answer to it, which is passed on as it is: we would only judge it
/// twice, and other protocols than WebSocket know no such answer. A client of HTTP/2 takes part in no handshake
/// (RFC 8441 §5.1): the key is ours, and so is the judgement. Without it whatever echoes `Upgrade` would be a tunnel.
pub(super) fn is_answered(request: &RequestHead, response: &ResponseHead) -> bool {
    if matches!(request.version(), Version::Http10 | Version::Http11) {
        return true;
    }
    let mut keys = request.fields.get_all(b"sec-websocket-key");
    let mut answers = response.fields.get_all(b"sec-websocket-accept");
    match (keys.next(), answers.next(), answers.next()) {
        (Some(key), Some(answer), None) => answer == accept(key).as_bytes(),
        _ => false,
    }
}

/// The answer to a key (RFC 6455 §4.2.2).
fn accept(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(GUID);
    BASE64_STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455 §1.3.
    #[test]
    fn a_key_has_its_answer() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
