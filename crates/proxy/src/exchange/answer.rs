//! What the proxy answers itself.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use portcullis_http1::{Framing, Known, ResponseHead, Version};
use portcullis_model::ListenerProtocol;
use portcullis_routing::is_grpc;

use super::{Downstream, Surroundings, has_body};
use crate::error::{ProxyError, Stage};
use crate::filters::CompiledRedirect;
use crate::grpc::grpc_answer;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::telemetry::{Record, http_date};

/// Answers with an error, which gRPC calls get as a trailers-only answer.
pub(super) async fn failure<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    status: u16,
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    let Scratch { request, response, .. } = &mut *scratch;
    let content_type = request.fields.known_value(Known::ContentType).unwrap_or_default();
    if is_grpc(content_type) {
        let (status, grpc_status) = grpc_answer(status);
        response.start(Version::Http11, status);
        response.fields.push(b"content-type", content_type);
        response.fields.push(b"grpc-status", grpc_status.to_string().as_bytes());
        response.fields.push(b"grpc-message", record.reason.as_str().as_bytes());
    } else {
        response.start(Version::Http11, status);
    }
    scratch.settle_answer();
    send(scratch, down, record, around).await
}

/// Answers a CORS preflight request.
pub(super) async fn preflight<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    scratch.response.start(Version::Http11, 204);
    scratch.settle_answer();
    send(scratch, down, record, around).await
}

/// Answers with a redirect.
pub(super) async fn redirect<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    (redirect, rule): (&CompiledRedirect, &CompiledRule),
    prefix_len: Option<usize>,
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    let request = &scratch.request;
    let host = std::str::from_utf8(request.host().unwrap_or_default()).unwrap_or_default();
    let path = std::str::from_utf8(request.path()).unwrap_or("/");
    let location = redirect.location(host, path, request.query(), prefix_len);
    let location = location.ok_or(ProxyError::downstream(Stage::Route, Reason::BadRequest))?;
    scratch.response.start(Version::Http11, redirect.status);
    scratch.response.fields.push(b"location", &location);
    scratch.settle_answer();
    rule.treatment.filters.on_response(&mut scratch.response);
    send(scratch, down, record, around).await
}

/// Passes on the answer of a service that let a request not pass; one that looks like consent says so.
pub(super) async fn denial<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    (head, body): (&ResponseHead, &[u8]),
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    let status = if head.status() < 300 { 403 } else { head.status() };
    scratch.response.start(Version::Http11, status);
    for (name, value, known) in head.fields.iter() {
        if known != Some(Known::ContentLength) && known != Some(Known::Date) {
            scratch.response.fields.push(name, value);
        }
    }
    scratch.settle_answer();
    send_body(scratch, down, record, body, around).await
}

async fn send<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    send_body(scratch, down, record, &[], around).await
}

async fn send_body<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    body: &[u8],
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    scratch.response.fields.push(b"date", http_date().as_bytes());
    explain(scratch, record, around);
    announce(&mut scratch.response, around);
    record.status = scratch.response.status();
    let request_ended = scratch.request.framing() == Framing::None || scratch.outgoing.ended();
    down.begin(&scratch.response, Framing::Length(body.len() as u64), request_ended)?;
    let limits = &around.worker.shared.options.limits;
    around.timer.set(limits.body_timeout);
    let mut rest = if has_body(scratch.request.method(), record.status) { body } else { &[] };
    record.sent = rest.len() as u64;
    if rest.is_empty() {
        down.end(None)?;
    }
    let flush = poll_fn(|cx| poll_body(cx, down, &mut rest));
    let flushed = crate::timer::within(around.timer, flush).await;
    around.timer.clear();
    flushed.unwrap_or(Ok(()))
}

/// Sends what is left of a body, and the answer's end. Ready when everything is on its way.
fn poll_body<D: Downstream>(
    cx: &mut Context<'_>,
    down: &mut D,
    rest: &mut &[u8],
) -> Poll<Result<(), ProxyError>> {
    while !rest.is_empty() {
        let room = ready!(down.poll_room(cx))?.min(rest.len());
        let (now, later) = rest.split_at(room);
        down.data(now)?;
        *rest = later;
        if rest.is_empty() {
            down.end(None)?;
        }
    }
    down.poll_flush(cx)
}

/// Says where HTTP/3 is served, to those who came to such a listener by TCP (RFC 7838 §3).
pub(super) fn announce(response: &mut ResponseHead, around: &Surroundings<'_>) {
    let Some(listener) = &around.client.tls_listener else { return };
    if !matches!(listener.protocol, ListenerProtocol::Http3(_)) || around.worker.draining() {
        return;
    }
    if let Some(place) = around.served.and_then(|served| served.tls.alt_svc(&listener.id)) {
        response.fields.set(b"alt-svc", place);
    }
}

/// Says how the request was handled, to those who may ask.
pub(super) fn explain(scratch: &mut Scratch, record: &Record, around: &Surroundings<'_>) {
    if let Some(name) = around.worker.shared.options.debug_header.as_ref().filter(|_| record.explain) {
        scratch.response.fields.set(name.as_str().as_bytes(), record.explanation().as_bytes());
    }
}
