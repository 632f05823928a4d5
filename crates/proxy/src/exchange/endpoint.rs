//! The endpoint's side of an exchange.

mod http1;
mod http2;

use std::task::{Context, Poll};

use portcullis_http1::Framing;

pub(super) use self::http1::Http1;
pub(super) use self::http2::Http2;
use super::Downstream;
use super::outgoing::Wire;
use crate::error::ProxyError;
use crate::scratch::Scratch;

/// The endpoint's side of an exchange. HTTP/1 and HTTP/2 differ here and nowhere else.
pub(super) trait Endpoint {
    /// What it speaks.
    const WIRE: Wire;

    /// Sends what waits of the request. Ready when nothing does; with false when the endpoint takes no more, though
    /// its answer may still come.
    fn poll_send(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<bool, ProxyError>>;

    /// Reads the next head of the answer, which may be an interim one; gives how its body ends.
    fn poll_head(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch)
    -> Poll<Result<Framing, ProxyError>>;

    /// Passes on some of the answer's body for which the client has this much room, or its end.
    fn poll_body<D: Downstream>(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut Scratch,
        room: usize,
        down: &mut D,
    ) -> Poll<Result<Passed, ProxyError>>;

    /// Bytes of the answer so far; grows with each sign of life.
    fn received(&self) -> u64;

    /// Ends what is left of a failed exchange.
    fn abandon(self, request_sent: bool);
}

/// What was passed on of an answer's body.
pub(super) enum Passed {
    /// This many bytes; maybe none, though something was done.
    Data(usize),
    /// Its end.
    End,
}
