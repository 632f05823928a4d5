//! What comes on a request's stream: frames, taken apart as their bytes come, and never more of them than is asked for.

use std::future::Future as _;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use quinn::{ReadError, RecvStream};

use super::frame::{Code, Header, kind};
use super::load::Load;
use crate::buffers::READ;

/// A part of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A field section: the first is the head, another the trailers.
    Fields(Vec<u8>),
    /// Some of the body.
    Data(Bytes),
}

/// Why no part comes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The client reset the stream, or the connection has ended.
    Gone,
    /// A field section is larger than it may be.
    TooLarge,
    /// The client broke HTTP/3, for which the connection ends.
    Protocol(Code),
}

/// Where within a frame the stream is.
enum State {
    Between,
    Fields { left: usize, section: Vec<u8> },
    Data { left: u64 },
    Unknown { left: u64 },
}

/// The frames of a request's stream (RFC 9114 §4.1), independent of where they come from.
pub(super) struct Frames {
    header: Header,
    state: State,
    /// Field sections so far.
    sections: u8,
    /// How large one may be.
    limit: usize,
    load: Rc<Load>,
}

impl Frames {
    pub(super) fn new(limit: usize, load: Rc<Load>) -> Frames {
        Frames { header: Header::default(), state: State::Between, sections: 0, limit, load }
    }

    /// The next part, of what has come; nothing if there is no whole one left in `bytes`.
    pub(super) fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Part>, Broken> {
        loop {
            match &mut self.state {
                State::Between => match self.header.take(bytes) {
                    Some((kind, length)) => self.begin(kind, length)?,
                    None => return Ok(None),
                },
                State::Fields { left: 0, section } => {
                    let section = std::mem::take(section);
                    self.state = State::Between;
                    return Ok(Some(Part::Fields(section)));
                }
                State::Data { left: 0 } | State::Unknown { left: 0 } => self.state = State::Between,
                _ if bytes.is_empty() => return Ok(None),
                State::Fields { left, section } => {
                    let part = bytes.split_to(bytes.len().min(*left));
                    *left -= part.len();
                    section.extend_from_slice(&part);
                }
                State::Data { left } => {
                    let part = bytes.split_to(upto(bytes, *left));
                    *left -= part.len() as u64;
                    return Ok(Some(Part::Data(part)));
                }
                State::Unknown { left } => {
                    let skipped = upto(bytes, *left);
                    *left -= skipped as u64;
                    bytes.advance(skipped);
                }
            }
        }
    }

    fn begin(&mut self, kind: u64, length: u64) -> Result<(), Broken> {
        self.state = match (kind, self.sections) {
            (kind::HEADERS, 0 | 1) => {
                self.sections += 1;
                let left = usize::try_from(length).ok().filter(|length| *length <= self.limit);
                State::Fields { left: left.ok_or(Broken::TooLarge)?, section: Vec::new() }
            }
            (kind::DATA, 1) => {
                if length == 0 {
                    self.count()?;
                }
                State::Data { left: length }
            }
            (kind, _) if is_known(kind) => return Err(Broken::Protocol(Code::FrameUnexpected)),
            _ => {
                self.count()?;
                State::Unknown { left: length }
            }
        };
        Ok(())
    }

    fn count(&self) -> Result<(), Broken> {
        if self.load.count() { Ok(()) } else { Err(Broken::Protocol(Code::ExcessiveLoad)) }
    }

    /// Whether the stream may end here.
    pub(super) fn may_end(&self) -> bool {
        match self.state {
            State::Between => !self.header.begun(),
            State::Data { left } | State::Unknown { left } => left == 0,
            State::Fields { .. } => false,
        }
    }
}

fn upto(bytes: &Bytes, left: u64) -> usize {
    bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
}

/// Whether frames of a type have a meaning, which they do not have here; others are passed over (RFC 9114 §9).
fn is_known(kind: u64) -> bool {
    let here = [
        kind::DATA,
        kind::HEADERS,
        kind::CANCEL_PUSH,
        kind::SETTINGS,
        kind::PUSH_PROMISE,
        kind::GOAWAY,
        kind::MAX_PUSH_ID,
    ];
    here.contains(&kind) || kind::OF_HTTP2.contains(&kind)
}

/// A request as it comes in.
pub(super) struct Receiving {
    stream: RecvStream,
    frames: Frames,
    bytes: Bytes,
    /// A part that was looked at.
    held: Option<Part>,
    ended: bool,
}

impl Receiving {
    pub(super) fn new(stream: RecvStream, limit: usize, load: Rc<Load>) -> Receiving {
        Receiving { stream, frames: Frames::new(limit, load), bytes: Bytes::new(), held: None, ended: false }
    }

    /// The request's next part; none at its end.
    pub(super) fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Part>, Broken>> {
        if let Some(part) = self.held.take() {
            return Poll::Ready(Ok(Some(part)));
        }
        loop {
            if let Some(part) = self.frames.next(&mut self.bytes)? {
                return Poll::Ready(Ok(Some(part)));
            }
            if !ready!(self.poll_bytes(cx))? {
                let whole = self.frames.may_end();
                return Poll::Ready(whole.then_some(None).ok_or(Broken::Protocol(Code::Frame)));
            }
        }
    }

    /// Whether the request has another part, which stays.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Broken>> {
        self.held = ready!(self.poll_part(cx))?;
        Poll::Ready(Ok(self.held.is_some()))
    }

    /// Ready when there are bytes, or none will come (false).
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Broken>> {
        if self.bytes.is_empty() && !self.ended {
            match ready!(pin!(self.stream.read_chunk(READ, true)).poll(cx)) {
                Ok(Some(chunk)) => self.bytes = chunk.bytes,
                Ok(None) => self.ended = true,
                Err(ReadError::Reset(_) | ReadError::ConnectionLost(_)) => {
                    return Poll::Ready(Err(Broken::Gone));
                }
                Err(_) => return Poll::Ready(Err(Broken::Protocol(Code::Internal))),
            }
        }
        Poll::Ready(Ok(!self.bytes.is_empty()))
    }

    /// Asks the client to send no more, unless it has ended.
    pub(super) fn stop(&mut self, code: Code) {
        if !self.ended {
            // A client that has reset the stream knows.
            let _ = self.stream.stop(code.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frame::write_header;
    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        write_header(&mut frame, kind, payload.len());
        frame.extend_from_slice(payload);
        frame
    }

    /// The parts of a stream that comes in pieces of this size, what data there is taken together, or why it broke.
    fn parts(stream: &[u8], cut: usize) -> Result<(Vec<Part>, bool), Broken> {
        let mut frames = Frames::new(16, Rc::new(Load::new(3)));
        let mut parts = Vec::new();
        for piece in stream.chunks(cut) {
            let mut bytes = Bytes::copy_from_slice(piece);
            while let Some(part) = frames.next(&mut bytes)? {
                let (last, part) = (parts.last_mut(), part);
                if let (Some(Part::Data(last)), Part::Data(more)) = (last, &part) {
                    *last = [last.as_ref(), more].concat().into();
                } else {
                    parts.push(part);
                }
            }
        }
        if let Some(part) = frames.next(&mut Bytes::new())? {
            parts.push(part);
        }
        Ok((parts, frames.may_end()))
    }

    #[test]
    fn a_request_is_a_head_a_body_and_trailers_however_its_bytes_are_cut() {
        let whole = [
            frame(0x21, b"grease"),
            frame(kind::HEADERS, b"head"),
            frame(kind::DATA, b"bo"),
            frame(0x40, b""),
            frame(kind::DATA, b"dy"),
            frame(kind::HEADERS, b"trailers"),
        ]
        .concat();
        let expected = || {
            vec![
                Part::Fields(b"head".to_vec()),
                Part::Data(Bytes::from_static(b"body")),
                Part::Fields(b"trailers".to_vec()),
            ]
        };
        for cut in 1..=whole.len() {
            assert_eq!(parts(&whole, cut), Ok((expected(), true)), "{cut}");
        }
        for end in [1, 3, 9, 11, whole.len() - 1] {
            assert!(matches!(parts(&whole[..end], end), Ok((_, false))), "{end} bytes are no whole frames");
        }
    }

    #[test]
    fn frames_that_have_no_place_on_a_request_break_the_connection() {
        let head = frame(kind::HEADERS, b"h");
        let unexpected = Err(Broken::Protocol(Code::FrameUnexpected));
        for other in
            [kind::CANCEL_PUSH, kind::SETTINGS, kind::PUSH_PROMISE, kind::GOAWAY, kind::MAX_PUSH_ID, 0x2, 0x9]
        {
            assert_eq!(parts(&[&head[..], &frame(other, b"")].concat(), 3), unexpected, "{other}");
        }
        assert_eq!(parts(&frame(kind::DATA, b"body"), 3), unexpected, "a body before the head");
        let after = [&head[..], &head, &frame(kind::DATA, b"")].concat();
        assert_eq!(parts(&after, 3), unexpected, "a body after the trailers");
        assert_eq!(parts(&head.repeat(3), 3), unexpected, "a third field section");
    }

    #[test]
    fn what_carries_nothing_is_counted_and_large_sections_are_not_kept() {
        let head = frame(kind::HEADERS, b"h");
        let flood = [&head[..], &frame(0x21, b"").repeat(2), &frame(kind::DATA, b"").repeat(2)].concat();
        assert_eq!(parts(&flood, 5), Err(Broken::Protocol(Code::ExcessiveLoad)));
        let mut large = Vec::new();
        write_header(&mut large, kind::HEADERS, 17);
        assert_eq!(parts(&large, 1), Err(Broken::TooLarge), "before any byte of it has come");
    }

    proptest! {
        /// Whatever a client sends, its parts are the same however it was cut, and nothing panics.
        #[test]
        fn any_bytes_are_read_the_same_however_they_are_cut(bytes: Vec<u8>, cut in 1usize..8) {
            prop_assert_eq!(parts(&bytes, cut), parts(&bytes, bytes.len().max(1)));
        }
    }
}
