//! A request on its way to the endpoint.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use portcullis_http1::{
    ConnectionField, Fields, Framing, RequestHead, write_chunk, write_last_chunk, write_request,
};
use tokio::io::AsyncWrite;

use crate::buffers::{Buffers, OutBuf};
use crate::error::{ProxyError, Stage};
use crate::reason::Reason;

/// A request on its way to the endpoint: its head, and as much of its body as has come.
pub(crate) struct Outgoing {
    out: OutBuf,
    framing: Framing,
    ended: bool,
    /// What is in `out` is all there ever was.
    whole: bool,
    body: u64,
    body_limit: u64,
}

impl Outgoing {
    pub(crate) fn new(buffers: &Rc<Buffers>, body_limit: u64) -> Outgoing {
        let out = OutBuf::new(buffers);
        Outgoing { out, framing: Framing::None, ended: true, whole: true, body: 0, body_limit }
    }

    /// Begins with a head.
    pub(crate) fn start(&mut self, head: &RequestHead) -> Result<(), ProxyError> {
        self.reset();
        self.framing = head.framing();
        self.ended = self.framing == Framing::None;
        if matches!(self.framing, Framing::Length(length) if length > self.body_limit) {
            return Err(ProxyError::downstream(Stage::ReceiveHead, Reason::BodyTooLarge));
        }
        let upgrade = head.upgrade().map_or(ConnectionField::Absent, |_| ConnectionField::Upgrade);
        write_request(self.out.tail(), head, self.framing, upgrade, b"");
        Ok(())
    }

    pub(crate) fn reset(&mut self) {
        self.out.release();
        (self.framing, self.ended, self.whole, self.body) = (Framing::None, true, true, 0);
    }

    /// Bytes of the body so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body
    }

    /// Changes whenever the endpoint takes something: bytes of the body so far, and what of the request waits.
    pub(crate) fn progress(&self) -> (u64, usize) {
        (self.body, self.out.pending())
    }

    /// Whether the body has ended; its last bytes may still be waiting here.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes bytes of the body; what was there before must have been written.
    pub(crate) fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        self.forget_written();
        self.body += data.len() as u64;
        if self.body > self.body_limit {
            return Err(ProxyError::downstream(Stage::ReceiveBody, Reason::BodyTooLarge));
        }
        match self.framing {
            Framing::Chunked => write_chunk(self.out.tail(), data),
            _ => self.out.tail().extend_from_slice(data),
        }
        Ok(())
    }

    /// Ends the body.
    pub(crate) fn end(&mut self, trailers: &Fields) {
        self.forget_written();
        self.ended = true;
        if self.framing == Framing::Chunked {
            write_last_chunk(self.out.tail(), trailers);
        }
    }

    fn forget_written(&mut self) {
        if self.out.pending() == 0 && self.framing != Framing::None {
            self.out.clear();
            self.whole = false;
        }
    }

    /// Whether everything can be sent once more: there is no body.
    pub(crate) fn can_rewind(&self) -> bool {
        self.framing == Framing::None
    }

    /// Whether not a byte has been written.
    pub(crate) fn untouched(&self) -> bool {
        self.whole && self.out.is_unwritten()
    }

    pub(crate) fn rewind(&mut self) {
        self.out.rewind();
    }

    /// Ready when everything is on its way.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        ready!(self.out.poll_write(cx, stream))?;
        Pin::new(stream).poll_flush(cx)
    }
}
