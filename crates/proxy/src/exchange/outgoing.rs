//! A request on its way to the endpoint.

mod frames;
mod kept;

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
use self::kept::Kept;
use super::mirror::Tap;
use crate::budget::Budget;
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
    /// What may have to be sent once more.
    kept: Kept,
    /// Where copies of the body go.
    taps: Vec<Tap>,
    framing: Framing,
    ended: bool,
    /// The body was taken in before the request goes anywhere.
    held: bool,
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
    pub(crate) fn new(buffers: &Rc<Buffers>, copies: &Rc<Budget>, limits: &Limits) -> Outgoing {
        Outgoing {
            wire: Wire::Http1,
            out: OutBuf::new(buffers),
            frames: Frames::default(),
            kept: Kept::new(copies, limits.replay_bytes.0),
            taps: Vec::new(),
            framing: Framing::None,
            ended: true,
            held: false,
            whole: true,
            body: 0,
            body_limit: if limits.body_bytes.0 == 0 { u64::MAX } else { limits.body_bytes.0 as u64 },
        }
    }

    /// Begins with a head.
    pub(crate) fn start(&mut self, head: &RequestHead) -> Result<(), ProxyError> {
        self.clear();
        self.framing = head.framing();
        self.ended = self.framing == Framing::None;
        if matches!(self.framing, Framing::Length(length) if length > self.body_limit) {
            return Err(ProxyError::downstream(Stage::ReceiveHead, Reason::BodyTooLarge));
        }
        Ok(())
    }

    /// Copies of the body of the next request go here too.
    pub(super) fn tap(&mut self, tap: Tap) {
        if let Some((body, trailers)) = self.kept.body().filter(|_| self.held) {
            body.iter().for_each(|data| tap.push(data));
            tap.end(trailers);
        }
        self.taps.push(tap);
    }

    pub(crate) fn reset(&mut self) {
        self.clear();
        self.taps.clear();
    }

    fn clear(&mut self) {
        self.out.release();
        self.frames.clear();
        self.kept.reset();
        self.held = false;
        (self.framing, self.ended, self.whole, self.body) = (Framing::None, true, true, 0);
    }

    /// Begins with a head whose body, up to this many bytes, is to be taken in before it goes anywhere.
    pub(super) fn hold(&mut self, head: &RequestHead, bytes: usize) -> Result<(), ProxyError> {
        self.start(head)?;
        self.kept.keep_up_to(bytes);
        (self.held, self.wire) = (true, Wire::Http2); // frames share the memory of what is kept
        Ok(())
    }

    /// Whether the request has begun, with its body taken in.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// The body that was taken in.
    pub(super) fn held(&self) -> Option<Bytes> {
        let (body, _) = self.kept.body().filter(|_| self.held)?;
        Some(match body {
            [one] => one.clone(),
            parts => parts.concat().into(),
        })
    }

    /// The body is kept until the answer begins, as far as it may be.
    pub(super) fn keep(&mut self) {
        self.kept.keep();
    }

    /// Gets ready for an endpoint, from the request's beginning. False if that is no longer here.
    pub(super) fn begin(&mut self, head: &RequestHead, wire: Wire) -> bool {
        if !self.can_rewind() {
            return false;
        }
        self.wire = wire;
        self.frames.clear();
        match wire {
            Wire::Http1 => {
                self.out.clear();
                let upgrade = head.upgrade().map_or(ConnectionField::Absent, |_| ConnectionField::Upgrade);
                write_request(self.out.tail(), head, self.framing, upgrade, b"");
                self.whole = true;
            }
            Wire::Http2 => {
                self.out.release();
                self.kept.keep(); // an endpoint that refuses a stream has mostly taken the body of it
            }
        }
        self.replay();
        true
    }

    /// Puts the body so far in line again.
    fn replay(&mut self) {
        let Some((body, trailers)) = self.kept.body() else { return };
        for data in body {
            match (self.wire, self.framing) {
                (Wire::Http2, _) => self.frames.push(data.clone()),
                (Wire::Http1, Framing::Chunked) => write_chunk(self.out.tail(), data),
                (Wire::Http1, _) => self.out.tail().extend_from_slice(data),
            }
        }
        match (self.wire, self.framing) {
            _ if !self.ended => {}
            (Wire::Http2, _) => self.frames.end(trailers),
            (Wire::Http1, Framing::Chunked) => write_last_chunk(self.out.tail(), trailers),
            (Wire::Http1, _) => {}
        }
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
    pub(super) fn is_withheld(&self) -> bool {
        self.framing == Framing::Length(0) && !self.ended
    }

    /// Takes bytes of the body; what was there before must have been taken by the endpoint.
    pub(crate) fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        if self.wire == Wire::Http2 || self.kept.keeps() || !self.taps.is_empty() {
            return self.shared(Bytes::copy_from_slice(data));
        }
        self.count(data.len())?;
        self.write(data);
        Ok(())
    }

    /// Takes the same from memory that may be shared.
    pub(crate) fn shared(&mut self, data: Bytes) -> Result<(), ProxyError> {
        self.count(data.len())?;
        self.kept.push(data.clone());
        self.taps.iter().for_each(|tap| tap.push(&data));
        match self.wire {
            Wire::Http1 => self.write(&data),
            Wire::Http2 => self.frames.push(data),
        }
        Ok(())
    }

    fn write(&mut self, data: &[u8]) {
        self.forget_written();
        match self.framing {
            Framing::Chunked => write_chunk(self.out.tail(), data),
            _ => self.out.tail().extend_from_slice(data),
        }
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
        self.kept.end(trailers);
        self.taps.iter().for_each(|tap| tap.end(trailers));
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

    /// Whether everything can be sent once more: nothing of a body has come, or what came was kept.
    pub(crate) fn can_rewind(&self) -> bool {
        let body_began = self.body > 0 || (self.ended && !self.is_bodiless());
        !body_began || self.kept.keeps()
    }

    /// Whether not a byte has been written to an endpoint that speaks HTTP/1.
    pub(crate) fn untouched(&self) -> bool {
        self.whole && self.out.is_unwritten()
    }

    /// The answer has begun: the request will not be sent again.
    pub(super) fn answered(&mut self) {
        self.kept.forget();
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
