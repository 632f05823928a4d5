//! What `h2` does not bound, seen in the frames on their way to it: floods of frames that ask for nothing, each of
//! which it answers, and heads that are begun and never ended, for which it waits.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The span over which frames are counted.
const SPAN: Duration = Duration::from_secs(10);
/// A frame's header, in bytes (RFC 9113 §4.1).
const HEADER: usize = 9;

/// A head begins with HEADERS and goes on with CONTINUATION, up to the flag END_HEADERS (RFC 9113 §6.10).
const HEADERS: u8 = 0x1;
const CONTINUATION: u8 = 0x9;
const END_HEADERS: u8 = 0x4;

/// Types of frames that carry a request, or that its flow control needs; h2 and [`Resets`](crate::connection::resets::Resets)
/// bound these: DATA, HEADERS, RST_STREAM, WINDOW_UPDATE.
const WORK: [u8; 4] = [0x0, HEADERS, 0x3, 0x8];

/// A connection whose frames are counted as they come in.
pub(super) struct Guard<S> {
    stream: S,
    frames: Frames,
    seen: Rc<Seen>,
}

/// What the connection's task has to act on.
pub(super) struct Seen {
    flooded: Cell<bool>,
    heard: Cell<Instant>,
    head_since: Cell<Option<Instant>>,
}

impl Seen {
    /// The client floods; nothing more is read.
    pub(super) fn flooded(&self) -> bool {
        self.flooded.get()
    }

    /// When something came last.
    pub(super) fn heard(&self) -> Instant {
        self.heard.get()
    }

    /// Since when a head is under way; no other frame can come before it has ended.
    pub(super) fn head_since(&self) -> Option<Instant> {
        self.head_since.get()
    }
}

impl<S> Guard<S> {
    /// `prefix` is how many bytes come before the first frame.
    pub(super) fn new(stream: S, prefix: usize, limit: usize) -> Guard<S> {
        let seen =
            Seen { flooded: Cell::new(false), heard: Cell::new(Instant::now()), head_since: Cell::new(None) };
        Guard { stream, frames: Frames::new(prefix, limit), seen: Rc::new(seen) }
    }

    pub(super) fn seen(&self) -> Rc<Seen> {
        Rc::clone(&self.seen)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.seen.flooded() {
            return Poll::Pending;
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        this.frames.pass(buf.filled().get(before..).unwrap_or_default());
        this.seen.head_since.set(this.frames.head_since);
        this.seen.heard.set(Instant::now());
        if this.frames.exceeded() {
            this.seen.flooded.set(true);
            buf.set_filled(before);
            cx.waker().wake_by_ref(); // for the connection to look
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

crate::stream::writes_pass!(Guard);

/// Finds the frames in a stream of bytes, counts those that are no work and notes how long a head takes.
struct Frames {
    limit: usize,
    /// Bytes until the next frame's header.
    skip: usize,
    header: [u8; HEADER],
    have: usize,
    since: Instant,
    count: usize,
    /// A head has begun, and the frame that ends it is not here whole.
    in_head: bool,
    /// This frame is the last of a head.
    ends_head: bool,
    /// When the first bytes of a head were passed, if not all of it was.
    head_since: Option<Instant>,
}

impl Frames {
    fn new(prefix: usize, limit: usize) -> Frames {
        Frames {
            limit,
            skip: prefix,
            header: [0; HEADER],
            have: 0,
            since: Instant::now(),
            count: 0,
            in_head: false,
            ends_head: false,
            head_since: None,
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            if self.skip == 0 {
                self.end_payload();
            }
            bytes = bytes.get(skipped..).unwrap_or_default();
            let missing = (HEADER - self.have).min(bytes.len());
            let (part, rest) = bytes.split_at_checked(missing).unwrap_or_default();
            for (to, from) in self.header.iter_mut().skip(self.have).zip(part) {
                *to = *from;
            }
            self.have += missing;
            bytes = rest;
            if self.have == HEADER {
                let [high, middle, low, kind, flags, ..] = self.header;
                self.skip = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                self.have = 0;
                self.note(kind, flags);
                if self.skip == 0 {
                    self.end_payload();
                }
            }
        }
        self.head_since = self.in_head.then(|| self.head_since.unwrap_or_else(Instant::now));
    }

    fn end_payload(&mut self) {
        if std::mem::take(&mut self.ends_head) {
            (self.in_head, self.head_since) = (false, None);
        }
    }

    fn note(&mut self, kind: u8, flags: u8) {
        if matches!(kind, HEADERS | CONTINUATION) {
            self.in_head |= kind == HEADERS;
            self.ends_head = flags & END_HEADERS != 0;
        }
        if WORK.contains(&kind) {
            return;
        }
        if self.count == 0 || self.since.elapsed() > SPAN {
            (self.since, self.count) = (Instant::now(), 0);
        }
        self.count += 1;
    }

    fn exceeded(&self) -> bool {
        self.count > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0, 0, u8::try_from(payload.len()).unwrap(), kind, 0, 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn frames_are_found_however_the_bytes_are_cut() {
        let bytes =
            [b"preface".to_vec(), frame(4, b""), frame(1, b"\x06\x06\x06"), frame(6, &[6; 8]), frame(0, b"")]
                .concat();
        for cut in 1..bytes.len() {
            let mut frames = Frames::new(7, 10);
            bytes.chunks(cut).for_each(|part| frames.pass(part));
            assert_eq!(frames.count, 2, "{cut}");
        }
    }

    #[test]
    fn a_head_is_under_way_until_its_last_frame_is_whole() {
        let with = |kind, flags| {
            let mut frame = frame(kind, b"head");
            frame[4] = flags;
            frame
        };
        let mut frames = Frames::new(0, 10);
        let mut pass = |bytes: &[u8]| {
            frames.pass(bytes);
            frames.head_since
        };
        assert_eq!(pass(&with(HEADERS, END_HEADERS)), None);
        let since = pass(&with(HEADERS, 0));
        assert!(since.is_some());
        assert_eq!(pass(&with(CONTINUATION, 0)), since);
        let (part, rest) = (&with(CONTINUATION, END_HEADERS)[..12], &with(CONTINUATION, END_HEADERS)[12..]);
        assert_eq!(pass(part), since);
        assert_eq!(pass(rest), None);
        assert_eq!(pass(&frame(0, b"data")), None);
        let next = [with(HEADERS, 0), with(CONTINUATION, END_HEADERS), with(HEADERS, 0)].concat();
        assert!(pass(&next) > since, "another head has its own time");
    }

    #[test]
    fn more_than_the_limit_in_a_span_is_a_flood() {
        let mut frames = Frames::new(0, 2);
        frames.pass(&frame(6, &[0; 8]).repeat(2));
        assert!(!frames.exceeded());
        frames.pass(&frame(6, &[0; 8]));
        assert!(frames.exceeded());
        let mut work = Frames::new(0, 2);
        work.pass(&frame(0, b"x").repeat(9));
        assert!(!work.exceeded());
    }
}
