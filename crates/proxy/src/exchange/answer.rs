//! What the proxy answers itself.

use std::future::poll_fn;

use portcullis_http1::{Framing, Known, Version};
use portcullis_routing::is_grpc;

use super::{Downstream, Surroundings};
use crate::error::ProxyError;
use crate::filters::CompiledRedirect;
use crate::grpc::grpc_answer;
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
    scratch.cors.apply(&mut scratch.response.fields);
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
    scratch.cors.apply(&mut scratch.response.fields);
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
    scratch.response.start(Version::Http11, redirect.status);
    scratch.response.fields.push(b"location", &location);
    scratch.cors.apply(&mut scratch.response.fields);
    rule.treatment.filters.on_response(&mut scratch.response);
    send(scratch, down, record, around).await
}

async fn send<D: Downstream>(
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    around: &Surroundings<'_>,
) -> Result<(), ProxyError> {
    scratch.response.fields.push(b"date", http_date().as_bytes());
    explain(scratch, record, around);
    record.status = scratch.response.status();
    let request_ended = scratch.request.framing() == Framing::None || scratch.outgoing.ended();
    down.begin(&scratch.response, Framing::Length(0), request_ended)?;
    down.end(None)?;
    let limits = &around.worker.shared.options.limits;
    around.timer.set(limits.body_timeout);
    let flushed = crate::timer::within(around.timer, poll_fn(|cx| down.poll_flush(cx))).await;
    around.timer.clear();
    flushed.unwrap_or(Ok(()))
}

/// Says how the request was handled, to those who may ask.
pub(super) fn explain(scratch: &mut Scratch, record: &Record, around: &Surroundings<'_>) {
    if let Some(name) = around.worker.shared.options.debug_header.as_ref().filter(|_| record.explain) {
        scratch.response.fields.set(name.as_str().as_bytes(), record.explanation().as_bytes());
    }
}
