//! An endpoint that speaks HTTP/1.

use std::task::{Context, Poll, ready};

use portcullis_http1::{Exchange, Framing, Piece};

use super::{Endpoint, Passed, Wire};
use crate::error::{ProxyError, Replay, Stage};
use crate::exchange::Downstream;
use crate::limits::Limits;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::upstream::Upstream;

/// A connection that the exchange has for itself.
pub(in crate::exchange) struct Http1 {
    pub(in crate::exchange) upstream: Upstream,
    head_bytes: usize,
    /// Bytes of the answer, its head included.
    received: u64,
    /// The connection over TLS has ended without a word.
    cut: bool,
}

impl Http1 {
    pub(in crate::exchange) fn new(upstream: Upstream, limits: &Limits) -> Http1 {
        Http1 { upstream, head_bytes: limits.upstream_head_bytes.0, received: 0, cut: false }
    }

    /// Whether nothing of the request can have reached the endpoint. What a failed write over TLS has sent of its
    /// records is not known.
    fn unsent(&self, scratch: &Scratch) -> bool {
        scratch.outgoing.untouched() && !self.upstream.stream.is_tls()
    }

    /// Reads more of the answer; false at the end of the connection.
    fn poll_fill(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<bool> {
        let filled = scratch.input.poll_fill(cx, &mut self.upstream.stream, self.head_bytes);
        let filled = ready!(filled);
        // Over TLS an end that was not announced may be an attacker's (RFC 9112 §9.8).
        self.cut |= filled.is_err() && self.upstream.stream.is_tls();
        let read = filled.unwrap_or(0); // a reset is as much of an end as a close
        self.received += read as u64;
        Poll::Ready(read > 0)
    }
}

impl Endpoint for Http1 {
    const WIRE: Wire = Wire::Http1;

    fn poll_send(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<bool, ProxyError>> {
        match ready!(scratch.outgoing.poll_write(cx, &mut self.upstream.stream)) {
            Ok(()) => Poll::Ready(Ok(true)),
            Err(_) if self.upstream.reused && self.unsent(scratch) => {
                Poll::Ready(Err(reset(Stage::SendRequest, Replay::NothingSent)))
            }
            Err(_) => Poll::Ready(Ok(false)),
        }
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<Framing, ProxyError>> {
        loop {
            let request = Exchange { method: scratch.request.method(), upgrade: scratch.request.upgrade() };
            let parsed = scratch.parser.parse(scratch.input.filled(), request, &mut scratch.response);
            if let Some(len) = parsed.map_err(|_| malformed(Stage::ReceiveAnswer))? {
                scratch.input.consume(len);
                return Poll::Ready(Ok(scratch.response.framing()));
            }
            if !ready!(self.poll_fill(cx, scratch)) {
                let closed = self.upstream.reused && self.received == 0;
                let replay = if closed { Replay::ReusedClosed } else { Replay::Never };
                return Poll::Ready(Err(reset(Stage::ReceiveAnswer, replay)));
            }
        }
    }

    fn poll_body<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut Scratch,
        room: usize,
        down: &mut D,
    ) -> Poll<Result<Passed, ProxyError>> {
        let input = scratch.input.filled();
        let input = input.get(..room).unwrap_or(input);
        let (used, piece) = scratch.decoder.decode(input).map_err(|_| malformed(Stage::RelayAnswer))?;
        let passed = match piece {
            Piece::Data(data) => {
                down.data(data)?;
                Passed::Data(data.len())
            }
            Piece::End => {
                end(scratch, down)?;
                Passed::End
            }
            Piece::More => Passed::Data(0),
        };
        let more = matches!(piece, Piece::More);
        scratch.input.consume(used);
        if more && !ready!(self.poll_fill(cx, scratch)) {
            if self.cut || scratch.decoder.close().is_err() {
                return Poll::Ready(Err(reset(Stage::RelayAnswer, Replay::Never)));
            }
            end(scratch, down)?;
            return Poll::Ready(Ok(Passed::End));
        }
        Poll::Ready(Ok(passed))
    }

    fn received(&self) -> u64 {
        self.received
    }

    /// The endpoint must not take a part of a request for the whole, nor the kernel keep what was not taken.
    fn abandon(self, request_sent: bool) {
        if !request_sent {
            self.upstream.stream.reset();
        }
    }
}

fn end<D: Downstream>(scratch: &Scratch, down: &mut D) -> Result<(), ProxyError> {
    down.end(Some(scratch.decoder.trailers()).filter(|trailers| !trailers.is_empty()))
}

fn reset(stage: Stage, replay: Replay) -> ProxyError {
    ProxyError::upstream(stage, replay, Reason::UpstreamReset)
}

fn malformed(stage: Stage) -> ProxyError {
    ProxyError::upstream(stage, Replay::Never, Reason::UpstreamProtocol)
}
