//! Floods of frames that ask for nothing: counted on their way to `h2`, which answers each of them.

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

/// Types of frames that carry a request, or that its flow control needs; h2 and [`Resets`](super::resets::Resets)
/// bound these: DATA, HEADERS, RST_STREAM, WINDOW_UPDATE.
const WORK: [u8; 4] = [0x0, 0x1, 0x3, 0x8];

/// A connection whose frames are counted as they come in.
pub(super) struct Guard<S> {
    stream: S,
    frames: Frames,
    flooded: Rc<Cell<bool>>,
}

impl<S> Guard<S> {
    /// `prefix` is how many bytes come before the first frame.
    pub(super) fn new(stream: S, prefix: usize, limit: usize) -> Guard<S> {
        Guard { stream, frames: Frames::new(prefix, limit), flooded: Rc::default() }
    }

    /// Becomes true when the client floods; from then on nothing more is read.
    pub(super) fn flooded(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.flooded)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.flooded.get() {
            return Poll::Pending;
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        this.frames.pass(buf.filled().get(before..).unwrap_or_default());
        if this.frames.exceeded() {
            this.flooded.set(true);
            buf.set_filled(before);
            cx.waker().wake_by_ref(); // for the connection to look
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// Finds the frames in a stream of bytes and counts those that are no work.
struct Frames {
    limit: usize,
    /// Bytes until the next frame's header.
    skip: usize,
    header: [u8; HEADER],
    have: usize,
    since: Instant,
    count: usize,
}

impl Frames {
    fn new(prefix: usize, limit: usize) -> Frames {
        Frames { limit, skip: prefix, header: [0; HEADER], have: 0, since: Instant::now(), count: 0 }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let missing = (HEADER - self.have).min(bytes.len());
            let (part, rest) = bytes.split_at_checked(missing).unwrap_or_default();
            for (to, from) in self.header.iter_mut().skip(self.have).zip(part) {
                *to = *from;
            }
            self.have += missing;
            bytes = rest;
            if self.have == HEADER {
                let [high, middle, low, kind, ..] = self.header;
                self.skip = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                self.have = 0;
                self.note(kind);
            }
        }
    }

    fn note(&mut self, kind: u8) {
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
