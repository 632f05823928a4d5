//! An endpoint that speaks HTTP/2.

mod request;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason as Code, RecvStream, SendStream};
use http::HeaderMap;
use http::response::Parts;
use portcullis_http1::{Framing, HeadLimits, Version};

use super::{Endpoint, Passed, Wire};
use crate::error::{ProxyError, Replay, Stage};
use crate::exchange::{Downstream, websocket};
use crate::http2;
use crate::limits::Limits;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::upstream::{self, LocalTarget, Place, UpstreamStream, UpstreamTunnel};

/// A stream of a connection that exchanges share.
pub(in crate::exchange) struct Http2 {
    place: Place,
    target: Rc<LocalTarget>,
    /// Of an answer's head.
    limits: HeadLimits,
    stream: Option<SendStream<Bytes>>,
    sent: bool,
    answer: Answer,
    /// Signs of life of the endpoint.
    received: u64,
}

enum Answer {
    /// Not asked for yet.
    None,
    Head(ResponseFuture),
    /// What came and waits for room at the client's side.
    Body(RecvStream, Bytes),
}

impl Http2 {
    pub(in crate::exchange) fn new(place: Place, target: Rc<LocalTarget>, limits: &Limits) -> Http2 {
        Http2 {
            place,
            target,
            limits: HeadLimits { block: limits.upstream_head_bytes.0, fields: limits.head_fields },
            stream: None,
            sent: false,
            answer: Answer::None,
            received: 0,
        }
    }

    /// The stream, which has become a tunnel.
    pub(in crate::exchange) fn into_tunnel(self) -> Option<UpstreamStream> {
        let (Answer::Body(receive, held), Some(send)) = (self.answer, self.stream) else { return None };
        let tunnel = UpstreamTunnel::new(receive, send, held, self.place);
        Some(UpstreamStream::Tunnel(Box::new(tunnel)))
    }

    fn heard(&mut self, bytes: usize) {
        self.received += 1 + bytes as u64;
        self.place.heard();
    }

    fn failed(&self, error: &h2::Error, stage: Stage) -> ProxyError {
        upstream::failed(error, stage, self.received > 0, self.place.reused)
    }

    /// A head as the relay takes it.
    fn read(&self, parts: &Parts, ended: bool, scratch: &mut Scratch) -> Result<Framing, ProxyError> {
        let malformed = malformed(Stage::ReceiveAnswer);
        let status = parts.status.as_u16();
        // HTTP/2 has no other protocol to switch to (RFC 9113 §8.6).
        if status == 101 || is_too_large(&parts.headers, self.limits) {
            return Err(malformed);
        }
        scratch.response.start(Version::Http2, status);
        for (name, value) in &parts.headers {
            scratch.response.fields.push(name.as_str().as_bytes(), value.as_bytes());
        }
        if let Some(protocol) = websocket::wants(&scratch.request).filter(|_| parts.status.is_success()) {
            websocket::settle(&scratch.request, &mut scratch.response);
            scratch.response.finish_switch(protocol.as_bytes());
            return Ok(Framing::Tunnel);
        }
        let finished = scratch.response.finish_multiplexed(ended, scratch.request.method());
        finished.map_err(|_| malformed)?;
        Ok(scratch.response.framing())
    }
}

/// Whether fields are more, or more text, than a head of HTTP/1 may have: lines with their ends.
fn is_too_large(headers: &HeaderMap, limits: HeadLimits) -> bool {
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    headers.len() > limits.fields || lines.sum::<usize>() > limits.block
}

impl Endpoint for Http2 {
    const WIRE: Wire = Wire::Http2;

    fn poll_send(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<bool, ProxyError>> {
        let Scratch { request, outgoing, .. } = scratch;
        if outgoing.is_withheld() {
            return Poll::Ready(Ok(true));
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                // What follows the head of a tunnel is not the request's.
                let tunnel = websocket::wants(request).is_some();
                let ended = request.framing() == Framing::None;
                let (answer, stream) =
                    self.place.send(request::head(request, &self.target.target)?, ended && !tunnel)?;
                (self.answer, self.sent) = (Answer::Head(answer), ended);
                self.stream.insert(stream)
            }
        };
        let ended = outgoing.ended();
        let frames = outgoing.frames();
        while frames.pending() > 0 {
            stream.reserve_capacity(frames.pending());
            while stream.capacity() == 0 {
                // What became of the stream is heard with its answer.
                let Some(Ok(_)) = ready!(stream.poll_capacity(cx)) else { return Poll::Ready(Ok(false)) };
            }
            let Some(data) = frames.take(stream.capacity()) else { break };
            let last = ended && frames.pending() == 0 && frames.trailers().is_none();
            if stream.send_data(data, last).is_err() {
                return Poll::Ready(Ok(false));
            }
            self.sent = last;
        }
        if ended && !std::mem::replace(&mut self.sent, true) {
            let sent = match frames.trailers() {
                Some(trailers) => stream.send_trailers(trailers.clone()),
                None => stream.send_data(Bytes::new(), true),
            };
            return Poll::Ready(Ok(sent.is_ok()));
        }
        Poll::Ready(Ok(true))
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<Framing, ProxyError>> {
        let Answer::Head(future) = &mut self.answer else { return Poll::Pending };
        let informational = future.poll_informational(cx);
        let parts = match informational {
            Poll::Ready(Some(Ok(response))) => {
                self.heard(0);
                return Poll::Ready(self.read(&response.into_parts().0, false, scratch));
            }
            Poll::Ready(Some(Err(error))) => Err(error),
            Poll::Ready(None) => ready!(Pin::new(future).poll(cx)),
            Poll::Pending => return Poll::Pending,
        };
        let response = parts.map_err(|error| self.failed(&error, Stage::ReceiveAnswer))?;
        self.heard(0);
        let (parts, body) = response.into_parts();
        let framing = self.read(&parts, body.is_end_stream(), scratch)?;
        self.answer = Answer::Body(body, Bytes::new());
        Poll::Ready(Ok(framing))
    }

    fn poll_body<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        _: &mut Scratch,
        room: usize,
        down: &mut D,
    ) -> Poll<Result<Passed, ProxyError>> {
        let Answer::Body(body, held) = &mut self.answer else { return Poll::Pending };
        if held.is_empty() {
            match ready!(body.poll_data(cx)) {
                Some(Ok(data)) => {
                    *held = data;
                    let len = held.len();
                    self.heard(len);
                }
                Some(Err(error)) => return Poll::Ready(Err(self.failed(&error, Stage::RelayAnswer))),
                None => {
                    let trailers = ready!(body.poll_trailers(cx));
                    let trailers = trailers.map_err(|error| self.failed(&error, Stage::RelayAnswer))?;
                    down.end(trailers.map(|trailers| http2::trailers(Some(&trailers))).as_ref())?;
                    return Poll::Ready(Ok(Passed::End));
                }
            }
        }
        let Answer::Body(body, held) = &mut self.answer else { return Poll::Pending };
        let data = held.split_to(room.min(held.len()));
        let passed = data.len();
        // It fails only for more than was received.
        let _ = body.flow_control().release_capacity(passed);
        down.shared(data)?;
        Poll::Ready(Ok(Passed::Data(passed)))
    }

    fn received(&self) -> u64 {
        self.received
    }

    /// The endpoint is told to stop; that of an exchange which has ended it knows (RFC 9113 §8.1).
    fn abandon(mut self, _: bool) {
        if let Some(stream) = &mut self.stream {
            stream.send_reset(Code::CANCEL);
        }
    }
}

fn malformed(stage: Stage) -> ProxyError {
    ProxyError::upstream(stage, Replay::Never, Reason::UpstreamProtocol)
}
