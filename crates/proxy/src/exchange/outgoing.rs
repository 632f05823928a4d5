//! A request on its way to the endpoint.

mod frames;

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use portcullis_http1::{
    ConnectionField, Fields, Framing, RequestHead, write_chunk, write_last_chunk, write_request,
};
use tokio::io::AsyncWrite;

pub(super) use self::frames::Frames;
use crate::buffers::{Buffers, OutBuf};
use crate::error::{ProxyError, Stage};
use crate::limits::Limits;
use crate::reason::Reason;

/// A request on its way to the endpoint: as much of it as has come and has not been taken.
pub(crate) struct Outgoing {
    wire: Wire,
    /// What waits for an endpoint that speaks HTTP/1: the head, and the body with its framing.
    out: OutBuf,
    /// What waits for one that speaks HTTP/2: the body.
    frames: Frames,
    framing: Framing,
    ended: bool,
    /// What is in `out` is all there ever was.
    whole: bool,
    body: u64,
    body_limit: u64,
}

/// What an endpoint speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Http1,
    Http2,
}

impl Outgoing {
    pub(crate) fn new(buffers: &Rc<Buffers>, limits: &Limits) -> Outgoing {
        Outgoing {
            wire: Wire::Http1,
            out: OutBuf::new(buffers),
            frames: Frames::new(limits.h2_replay_bytes.0),
            framing: Framing::None,
            ended: true,
            whole: true,
            body: 0,
            body_limit: if limits.body_bytes.0 == 0 { u64::MAX } else { limits.body_bytes.0 as u64 },
        }
    }

    /// Begins with a head.
    pub(crate) fn start(&mut self, head: &RequestHead) -> Result<(), ProxyError> {
        self.reset();
        self.framing = head.framing();
        self.ended = self.framing == Framing::None;
        if matches!(self.framing, Framing::Length(length) if length > self.body_limit) {
            return Err(ProxyError::downstream(Stage::ReceiveHead, Reason::BodyTooLarge));
        }
        Ok(())
    }

    pub(crate) fn reset(&mut self) {
        self.out.release();
        self.frames.clear();
        (self.framing, self.ended, self.whole, self.body) = (Framing::None, true, true, 0);
    }

    /// Gets ready for an endpoint, from the request's beginning. False if that is no longer here.
    pub(super) fn begin(&mut self, head: &RequestHead, wire: Wire) -> bool {
        let body_began = self.body > 0 || (self.ended && !self.is_bodiless());
        match wire {
            _ if body_began && wire != self.wire => return false,
            Wire::Http1 if body_began => self.out.rewind(),
            Wire::Http1 => {
                self.out.clear();
                let upgrade = head.upgrade().map_or(ConnectionField::Absent, |_| ConnectionField::Upgrade);
                write_request(self.out.tail(), head, self.framing, upgrade, b"");
            }
            Wire::Http2 if !self.frames.rewind() => return false,
            Wire::Http2 => self.out.release(),
        }
        self.wire = wire;
        true
    }

    /// Bytes of the body so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body
    }

    /// Changes whenever the endpoint takes something: bytes of the body so far, and what of the request waits.
    pub(crate) fn progress(&self) -> (u64, usize) {
        (self.body, self.out.pending() + self.frames.pending())
    }

    /// Whether the body has ended; its last bytes may still be waiting here.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Whether the head has to wait for the body's end: only then it is known that nothing comes of a body that is
    /// said to be empty (RFC 9113 §8.1.1).
    fn is_withheld(&self) -> bool {
        self.framing == Framing::Length(0) && !self.ended
    }

    /// Takes bytes of the body; what was there before must have been taken by the endpoint.
    pub(crate) fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        if self.wire == Wire::Http2 {
            return self.shared(Bytes::copy_from_slice(data));
        }
        self.count(data.len())?;
        self.forget_written();
        match self.framing {
            Framing::Chunked => write_chunk(self.out.tail(), data),
            _ => self.out.tail().extend_from_slice(data),
        }
        Ok(())
    }

    /// Takes the same from memory that may be shared.
    pub(crate) fn shared(&mut self, data: Bytes) -> Result<(), ProxyError> {
        if self.wire == Wire::Http1 {
            return self.data(&data);
        }
        self.count(data.len())?;
        self.frames.push(data);
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), ProxyError> {
        self.body += bytes as u64;
        if self.body > self.body_limit {
            return Err(ProxyError::downstream(Stage::ReceiveBody, Reason::BodyTooLarge));
        }
        Ok(())
    }

    /// Ends the body.
    pub(crate) fn end(&mut self, trailers: &Fields) {
        self.ended = true;
        match self.wire {
            Wire::Http2 => self.frames.end(trailers),
            Wire::Http1 => {
                self.forget_written();
                if self.framing == Framing::Chunked {
                    write_last_chunk(self.out.tail(), trailers);
                }
            }
        }
    }

    fn forget_written(&mut self) {
        if self.out.pending() == 0 && self.framing != Framing::None {
            self.out.clear();
            self.whole = false;
        }
    }

    /// Whether the request has no body.
    pub(crate) fn is_bodiless(&self) -> bool {
        self.framing == Framing::None
    }

    /// Whether everything can be sent once more to an endpoint of the same kind.
    pub(crate) fn can_rewind(&self) -> bool {
        self.is_bodiless() || (self.wire == Wire::Http2 && self.frames.is_whole())
    }

    /// Whether not a byte has been written to an endpoint that speaks HTTP/1.
    pub(crate) fn untouched(&self) -> bool {
        self.whole && self.out.is_unwritten()
    }

    /// The answer has begun: the request will not be sent again.
    pub(super) fn answered(&mut self) {
        self.frames.forget();
    }

    /// Writes what waits, as far as it may go, to an endpoint that speaks HTTP/1; ready when that is on its way.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        if self.is_withheld() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.out.poll_write(cx, stream))?;
        Pin::new(stream).poll_flush(cx)
    }

    /// What waits for an endpoint that speaks HTTP/2.
    pub(super) fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}
