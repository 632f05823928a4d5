//! Asking by gRPC: `envoy.service.auth.v3.Authorization/Check`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use portcullis_http1::{
    Fields, Framing, HeadError, HeadLimits, Known, KnownSet, PseudoFields, RequestHead, ResponseHead, Version,
};
use portcullis_model::{HeaderName, HeaderValue};
use prost::Message;

use super::envoy::{
    Address, AppendAction, AskedRequest, AttributeContext, CheckRequest, CheckResponse, Denied, Flag,
    Granted, Header, HeaderOption, HttpRequest, Peer, SocketAddress,
};
use super::{Grant, HeaderChange, Judgement, Place, Refusal};
use crate::filters::query::QueryChanges;

/// The length of what stands before each message: a flag and the message's length.
const PREFIX: usize = 5;

/// The call: its head, and its body with the one message.
pub(super) fn question(
    request: &RequestHead,
    client: SocketAddr,
    seen: &[HeaderName],
    body: &Bytes,
) -> Result<(RequestHead, Bytes), HeadError> {
    let pseudo = PseudoFields {
        method: b"POST",
        scheme: Some(b"http"),
        authority: Some(b"authorization"),
        path: Some(b"/envoy.service.auth.v3.Authorization/Check"),
    };
    let mut head = RequestHead::new();
    head.start_multiplexed(Version::Http2, pseudo)?;
    head.fields.push_known(Known::ContentType, b"application/grpc");
    head.fields.push_known(Known::Te, b"trailers");
    head.finish_multiplexed(HeadLimits { block: usize::MAX, fields: usize::MAX }, false)?;
    let message = message(request, client, seen, body).encode_to_vec();
    let mut call = Vec::with_capacity(PREFIX + message.len());
    call.push(0); // not compressed
    call.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    call.extend_from_slice(&message);
    Ok((head, call.into()))
}

fn message(request: &RequestHead, client: SocketAddr, seen: &[HeaderName], body: &Bytes) -> CheckRequest {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let known = |known| text(request.fields.known_value(known).unwrap_or_default());
    let mut path = text(request.path());
    if let Some(query) = request.query() {
        path.push('?');
        path.push_str(&text(query));
    }
    let (body, raw_body) = match std::str::from_utf8(body) {
        Ok(body) => (body.to_owned(), Bytes::new()),
        Err(_) => (String::new(), body.clone()),
    };
    let http = HttpRequest {
        id: known(Known::XRequestId),
        method: text(request.method_name()),
        headers: headers(&request.fields, seen),
        path,
        host: text(request.authority().unwrap_or_default()),
        scheme: known(Known::XForwardedProto),
        size: match request.framing() {
            Framing::None => 0,
            Framing::Length(length) => i64::try_from(length).unwrap_or(i64::MAX),
            _ => -1,
        },
        protocol: match request.version() {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
            Version::Http3 => "HTTP/3",
        }
        .to_owned(),
        body,
        raw_body,
    };
    let socket =
        SocketAddress { address: client.ip().to_canonical().to_string(), port: client.port().into() };
    let source = Peer { address: Some(Address { socket_address: Some(socket) }) };
    let request = Some(AskedRequest { http: Some(http) });
    CheckRequest { attributes: Some(AttributeContext { source: Some(source), request }) }
}

/// Source: GRPCAuthConfig.allowedHeaders: where none is listed all are seen.
fn headers(fields: &Fields, seen: &[HeaderName]) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, value, _) in fields.iter() {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if seen.is_empty() || seen.iter().any(|one| one.as_str() == name) {
            let value = String::from_utf8_lossy(value);
            let joined = |known: &mut String| *known = format!("{known},{value}");
            headers.entry(name).and_modify(joined).or_insert_with(|| value.clone().into_owned());
        }
    }
    headers
}

/// What the answer means; none if it is none.
pub(super) fn judge(head: &ResponseHead, trailers: &Fields, body: &[u8]) -> Option<Judgement> {
    let status =
        [&head.fields, trailers].into_iter().find_map(|fields| fields.known_value(Known::GrpcStatus));
    if head.status() != 200 || status != Some(b"0") {
        return None;
    }
    let (prefix, message) = body.split_first_chunk::<PREFIX>()?;
    let [0, length @ ..] = prefix else { return None };
    if u32::from_be_bytes(*length) as usize != message.len() {
        return None;
    }
    let CheckResponse { status, denied, granted } = CheckResponse::decode(message).ok()?;
    if status.unwrap_or_default().code != 0 {
        return Some(Judgement::Refused(refusal(&denied.unwrap_or_default())));
    }
    Some(Judgement::Granted(grant(&granted.unwrap_or_default())))
}

/// Source: `OkHttpResponse`. Headers of the request replace others of their name unless they say otherwise, those of the
/// answer stand beside them.
fn grant(granted: &Granted) -> Grant {
    let of_request = |option: &HeaderOption| change(option, Place::Instead);
    let of_answer = |option: &HeaderOption| change(option, Place::Beside);
    let parameters = granted.query_parameters_to_set.iter();
    Grant {
        removed: granted.headers_to_remove.iter().filter_map(|name| changeable(name)).collect(),
        changed: granted.headers.iter().filter_map(of_request).collect(),
        query: QueryChanges {
            set: parameters.map(|one| (one.key.clone(), one.value.clone())).collect(),
            removed: granted.query_parameters_to_remove.clone(),
        },
        answer: granted.response_headers_to_add.iter().filter_map(of_answer).collect(),
    }
}

fn change(option: &HeaderOption, otherwise: Place) -> Option<HeaderChange> {
    let (name, value) = field(option.header.as_ref()?)?;
    let place = match (option.append, option.append_action()) {
        (Some(Flag { value: true }), _) => Place::Beside,
        (Some(Flag { value: false }), _) | (None, AppendAction::OverwriteIfExistsOrAdd) => Place::Instead,
        (None, AppendAction::AppendIfExistsOrAdd) => otherwise,
        (None, AppendAction::AddIfAbsent) => Place::IfAbsent,
        (None, AppendAction::OverwriteIfExists) => Place::IfPresent,
    };
    changeable(name.as_str()).map(|name| HeaderChange { name, value, place })
}

fn refusal(denied: &Denied) -> Refusal {
    let status = denied.status.as_ref().and_then(|status| u16::try_from(status.code).ok());
    let mut head = ResponseHead::new();
    head.start(Version::Http11, status.filter(|status| (300..=599).contains(status)).unwrap_or(403));
    let changes = denied.headers.iter().filter_map(|option| change(option, Place::Beside));
    changes.for_each(|change| change.apply(&mut head.fields));
    Refusal { head, body: denied.body.clone().into_bytes() }
}

fn field(header: &Header) -> Option<(HeaderName, HeaderValue)> {
    let value = if header.raw_value.is_empty() { header.value.as_bytes() } else { &header.raw_value };
    Some((HeaderName::new(&header.key)?, HeaderValue::new(value)?))
}

/// A header that the service may change: neither where the request goes nor how it is framed.
fn changeable(name: &str) -> Option<HeaderName> {
    let known = Known::from_name(name.as_bytes());
    let kept = known.is_some_and(|known| {
        KnownSet::NOT_FORWARDED.contains(known) || matches!(known, Known::Host | Known::ContentLength)
    });
    HeaderName::new(name).filter(|_| !kept)
}
