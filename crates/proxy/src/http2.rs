//! What HTTP/2 needs on both sides: fields as `h2` has them, and as we do; signs of life.

mod pulse;
mod tunneled;

use h2::Reason as Code;
use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis_http1::{Fields, Known, KnownSet, is_forbidden_trailer};

pub(crate) use pulse::Pulse;
pub(crate) use tunneled::Tunneled;

/// The fields as `h2` takes them, but for one, and for those of a connection, which HTTP/2 cannot carry
/// (RFC 9113 §8.2.2).
pub(crate) fn headers(fields: &Fields, without: Option<Known>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for (name, value, known) in fields.iter() {
        if known.is_some_and(|known| Some(known) == without || KnownSet::NOT_FORWARDED.contains(known)) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// The trailers that may be passed on (RFC 9110 §6.5.1).
pub(crate) fn trailers(trailers: Option<&HeaderMap>) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in trailers.into_iter().flatten() {
        if !is_forbidden_trailer(name.as_str().as_bytes()) {
            fields.push(name.as_str().as_bytes(), value.as_bytes());
        }
    }
    fields
}

/// The code with which a stream ends because the one beyond it ended with this code. What is about the other
/// connection alone says nothing here.
pub(crate) fn passed_on(code: Code) -> Code {
    match code {
        Code::CANCEL | Code::REFUSED_STREAM | Code::ENHANCE_YOUR_CALM => code,
        _ => Code::INTERNAL_ERROR,
    }
}
