//! Where a body ends (RFC 9112 §6.3).

use crate::error::HeadError;
use crate::fields::Fields;
use crate::head::Version;
use crate::known::Known;
use crate::method::Method;
use crate::syntax;

/// Where a message's body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Framing {
    /// There is no body.
    #[default]
    None,
    /// After this many bytes.
    Length(u64),
    /// At the last chunk; for HTTP/2 and 3: at the end of the stream, the length being unknown.
    Chunked,
    /// At the end of the connection (responses only).
    UntilClose,
    /// Never: what follows is not HTTP (101, and 2xx to CONNECT).
    Tunnel,
}

impl Framing {
    /// How a response framed so is framed for an HTTP/1 client of `version`: an unknown length is chunked for
    /// HTTP/1.1, and ends with the connection for HTTP/1.0, which knows no chunks (RFC 9112 §6.1).
    #[must_use]
    pub fn for_client(self, version: Version) -> Self {
        match (self, version) {
            (Self::Chunked, Version::Http10) => Self::UntilClose,
            (Self::UntilClose, version) if version != Version::Http10 => Self::Chunked,
            (framing, _) => framing,
        }
    }
}

/// The length a message states, and whether it is chunked.
struct Stated {
    length: Option<u64>,
    chunked: bool,
}

/// Reads both framing fields; the two together, repetitions, and anything but a number or `chunked` are errors, in
/// either direction: a proxy that repairs them disagrees with someone about where the message ends (RFC 9112 §11.2).
fn stated(fields: &Fields, version: Version) -> Result<Stated, HeadError> {
    let has_length = fields.has(Known::ContentLength);
    if fields.has(Known::TransferEncoding) {
        if version == Version::Http10 {
            return Err(HeadError::TransferEncodingInHttp10);
        }
        if has_length {
            return Err(HeadError::ConflictingFraming);
        }
        let mut codings = fields.known_values(Known::TransferEncoding);
        return match (codings.next(), codings.next()) {
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Stated { length: None, chunked: true })
            }
            _ => Err(HeadError::TransferEncoding),
        };
    }
    Ok(Stated { length: stated_length(fields)?, chunked: false })
}

/// The one Content-Length of `fields`, if there is one.
pub(crate) fn stated_length(fields: &Fields) -> Result<Option<u64>, HeadError> {
    if !fields.has(Known::ContentLength) {
        return Ok(None);
    }
    let mut values = fields.known_values(Known::ContentLength);
    match (values.next(), values.next()) {
        (Some(value), None) => syntax::parse_decimal(value).map(Some).ok_or(HeadError::ContentLength),
        _ => Err(HeadError::RepeatedContentLength),
    }
}

/// An HTTP/1 request's framing (RFC 9112 §6.3, rules 3 to 7).
pub(crate) fn request(fields: &Fields, version: Version) -> Result<Framing, HeadError> {
    let Stated { length, chunked } = stated(fields, version)?;
    Ok(match length {
        _ if chunked => Framing::Chunked,
        Some(length) => Framing::Length(length),
        None => Framing::None,
    })
}

/// An HTTP/2 or 3 request's framing, where the end of the stream rules and Content-Length must agree with it
/// (RFC 9113 §8.1.1). `ended` says that no body follows the head.
pub(crate) fn multiplexed(fields: &Fields, ended: bool) -> Result<Framing, HeadError> {
    match (stated_length(fields)?, ended) {
        (None | Some(0), true) => Ok(Framing::None),
        (Some(_), true) => Err(HeadError::ContentLength),
        (Some(length), false) => Ok(Framing::Length(length)),
        (None, false) => Ok(Framing::Chunked),
    }
}

/// An HTTP/1 response's framing to a request of `method` (RFC 9112 §6.3), and whether fields spoke of a body where
/// there can be none.
pub(crate) fn response(
    fields: &Fields,
    version: Version,
    status: u16,
    method: Method,
) -> Result<(Framing, bool), HeadError> {
    let Stated { length, chunked } = stated(fields, version)?;
    let claims_body = chunked || length.is_some_and(|length| length > 0);
    Ok(match status {
        101 => (Framing::Tunnel, claims_body),
        200..=299 if method == Method::Connect => (Framing::Tunnel, claims_body),
        100..=199 | 204 => (Framing::None, claims_body),
        // What a 304, or an answer to HEAD, says of a body is about another response (RFC 9112 §6.1).
        304 => (Framing::None, false),
        _ if method == Method::Head => (Framing::None, false),
        _ if chunked => (Framing::Chunked, false),
        _ => (length.map_or(Framing::UntilClose, Framing::Length), false),
    })
}
