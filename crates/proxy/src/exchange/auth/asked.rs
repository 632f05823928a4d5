//! What stands for the client of a question: it has the body, and keeps the answer.

use std::task::{Context, Poll};

use bytes::Bytes;
use portcullis_http1::{Fields, Framing, ResponseHead};

use crate::buffers::READ;
use crate::error::ProxyError;
use crate::exchange::{Downstream, Outgoing};

/// Asks for a client, who may go meanwhile.
pub(super) struct Asked<'d, D> {
    down: &'d mut D,
    question: Bytes,
    head: Option<ResponseHead>,
    body: Vec<u8>,
    trailers: Fields,
    /// What may be kept of the answer's body, in bytes.
    limit: usize,
    taken: u64,
}

/// An answer.
pub(super) struct Answer {
    pub(super) head: ResponseHead,
    /// Empty if it was too long.
    pub(super) body: Vec<u8>,
    pub(super) trailers: Fields,
}

impl<'d, D: Downstream> Asked<'d, D> {
    pub(super) fn new(down: &'d mut D, question: Bytes, limit: usize) -> Asked<'d, D> {
        Asked { down, question, head: None, body: Vec::new(), trailers: Fields::new(), limit, taken: 0 }
    }

    pub(super) fn answer(self) -> Option<Answer> {
        let body = if self.body.len() > self.limit { Vec::new() } else { self.body };
        let trailers = self.trailers;
        self.head.map(|head| Answer { head, body, trailers })
    }
}

impl<D: Downstream> Downstream for Asked<'_, D> {
    fn poll_body(&mut self, _: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>> {
        self.taken += 1;
        into.shared(std::mem::take(&mut self.question))?;
        into.end(&Fields::new());
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError> {
        self.down.poll_gone(cx)
    }

    fn is_deaf(&self) -> bool {
        self.down.is_deaf()
    }

    fn interim(&mut self, _: &ResponseHead) {}

    fn begin(&mut self, head: &ResponseHead, _: Framing, _: bool) -> Result<(), ProxyError> {
        self.head = Some(head.clone());
        Ok(())
    }

    fn poll_room(&mut self, _: &mut Context<'_>) -> Poll<Result<usize, ProxyError>> {
        Poll::Ready(Ok(READ))
    }

    /// A byte more than the limit says that it was exceeded.
    fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        let room = (self.limit + 1).saturating_sub(self.body.len());
        self.body.extend_from_slice(data.get(..room).unwrap_or(data));
        Ok(())
    }

    fn end(&mut self, trailers: Option<&Fields>) -> Result<(), ProxyError> {
        self.trailers = trailers.cloned().unwrap_or_default();
        Ok(())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        Poll::Ready(Ok(()))
    }

    fn begun(&self) -> bool {
        self.head.is_some()
    }

    fn progress(&self) -> u64 {
        self.taken
    }
}
