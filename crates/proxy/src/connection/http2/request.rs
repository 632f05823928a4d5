//! A request of HTTP/2 as a head, by the validation that all versions share.

use h2::RecvStream;
use http::request::Parts;
use portcullis_http1::{HeadError, HeadLimits, PseudoFields, RequestHead, Version};

use crate::limits::Limits;
use crate::reason::Reason;

/// Reads a request into a head.
pub(super) fn read(
    head: &mut RequestHead,
    parts: &Parts,
    body: &RecvStream,
    limits: &Limits,
) -> Result<(), HeadError> {
    let connect = parts.method == http::Method::CONNECT;
    // Without `:authority` (which Host may stand for, RFC 9113 §8.3.1) `h2` checks `:scheme` and does not tell it.
    let scheme = Some(parts.uri.scheme_str().unwrap_or("http").as_bytes());
    let path = parts.uri.path_and_query().map(|path| path.as_str().as_bytes());
    let pseudo = PseudoFields {
        method: parts.method.as_str().as_bytes(),
        scheme: scheme.filter(|_| !connect),
        authority: parts.uri.authority().map(|authority| authority.as_str().as_bytes()),
        path: path.filter(|_| !connect),
    };
    head.start_multiplexed(Version::Http2, pseudo)?;
    for (name, value) in &parts.headers {
        head.fields.push(name.as_str().as_bytes(), value.as_bytes());
    }
    let limits = HeadLimits { block: limits.head_bytes.0, fields: limits.head_fields };
    head.finish_multiplexed(limits, body.is_end_stream())
}

/// Why a head was refused.
pub(super) fn reason(error: HeadError) -> Reason {
    if error.status() == 431 { Reason::HeadTooLarge } else { Reason::BadRequest }
}
