//! A request's head as `h2` sends it.

use bytes::{Bytes, BytesMut};
use h2::ext::Protocol;
use http::header::{CONTENT_LENGTH, HeaderValue, SEC_WEBSOCKET_KEY, TE};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};
use portcullis_http1::{Framing, Known, RequestHead};

use crate::error::{ProxyError, Replay, Stage};
use crate::exchange::websocket;
use crate::http2;
use crate::reason::Reason;
use crate::upstream::Target;

/// The head. The target's address stands in where the request names no host.
pub(super) fn head(head: &RequestHead, target: &Target) -> Result<Request<()>, ProxyError> {
    let invalid = ProxyError::upstream(Stage::SendRequest, Replay::Never, Reason::BadRequest);
    let mut request = Request::new(());
    *request.version_mut() = Version::HTTP_2;
    *request.method_mut() = Method::from_bytes(head.method_name()).map_err(|_| invalid)?;
    let tunnel = websocket::wants(head);
    if let Some(protocol) = tunnel {
        *request.method_mut() = Method::CONNECT;
        request.extensions_mut().insert(Protocol::from_static(protocol));
    }
    *request.uri_mut() = uri(head, target).ok_or(invalid)?;
    let mut headers = http2::headers(&head.fields, Some(Known::Host));
    headers.remove(CONTENT_LENGTH);
    if tunnel.is_some() {
        headers.remove(SEC_WEBSOCKET_KEY); // RFC 8441 §5: a stream has no use for it
    }
    if let Framing::Length(length) = head.framing() {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    if head.connection().trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    *request.headers_mut() = headers;
    Ok(request)
}

/// Host, as the filters left it, has become `:authority` (RFC 9113 §8.3.1).
fn uri(head: &RequestHead, target: &Target) -> Option<Uri> {
    let host = head.fields.known_value(Known::Host).filter(|host| !host.is_empty());
    let host = Bytes::copy_from_slice(host.unwrap_or(target.label.as_bytes()));
    let mut path = BytesMut::from(head.path());
    if let Some(query) = head.query() {
        path.extend_from_slice(b"?");
        path.extend_from_slice(query);
    }
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(if target.is_secure() { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = Some(Authority::from_maybe_shared(host).ok()?);
    parts.path_and_query = Some(PathAndQuery::from_maybe_shared(path.freeze()).ok()?);
    Uri::from_parts(parts).ok()
}
