//! Buffers of connections: taken when there is something to hold, given back to the worker when there is not, so
//! that an idle connection holds none.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The size of a buffer for reading, in bytes: a TLS record, and most heads with a small body, in one read.
pub(crate) const READ: usize = 16 * 1024;
/// The size of a buffer for reading from a source that has more than [`READ`] at a time, in bytes.
pub(crate) const BULK: usize = 128 * 1024;
/// How many buffers of each kind a worker keeps for later.
const KEPT: usize = 256;
/// How many of the large ones.
const KEPT_BULK: usize = 16;
/// A buffer for writing that has grown beyond this, in bytes, is not kept.
const KEPT_CAPACITY: usize = 64 * 1024;

/// The free buffers of one worker.
#[derive(Default)]
pub(crate) struct Buffers {
    read: RefCell<Vec<Box<[u8]>>>,
    bulk: RefCell<Vec<Box<[u8]>>>,
    write: RefCell<Vec<Vec<u8>>>,
}

/// What was read and not yet used.
pub(crate) struct InBuf {
    buffers: Rc<Buffers>,
    /// Empty while there is nothing to hold.
    data: Box<[u8]>,
    start: usize,
    end: usize,
    /// The next buffer is a large one.
    large: bool,
}

/// What is to be written.
pub(crate) struct OutBuf {
    buffers: Rc<Buffers>,
    data: Vec<u8>,
    written: usize,
}

impl Buffers {
    fn take(&self, large: bool) -> Box<[u8]> {
        let (kept, size) = if large { (&self.bulk, BULK) } else { (&self.read, READ) };
        kept.borrow_mut().pop().unwrap_or_else(|| vec![0; size].into())
    }

    /// Keeps a buffer of a usual size.
    fn give_back(&self, data: Box<[u8]>) {
        let (kept, most) = match data.len() {
            READ => (&self.read, KEPT),
            BULK => (&self.bulk, KEPT_BULK),
            _ => return,
        };
        let mut kept = kept.borrow_mut();
        if kept.len() < most {
            kept.push(data);
        }
    }
}

impl InBuf {
    pub(crate) fn new(buffers: &Rc<Buffers>) -> InBuf {
        InBuf { buffers: Rc::clone(buffers), data: Box::default(), start: 0, end: 0, large: false }
    }

    /// Lets the next read be larger if the last one filled the buffer, and smaller again if it filled little.
    pub(crate) fn adapt(&mut self) {
        let read = self.end - self.start;
        self.large = if self.large { read > READ } else { self.end == READ };
    }

    /// What was read and not used.
    pub(crate) fn filled(&self) -> &[u8] {
        self.data.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Drops bytes from the front.
    pub(crate) fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads more; 0 is the end. Nothing is read while `limit` bytes wait: that is for the caller to prevent.
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
        limit: usize,
    ) -> Poll<io::Result<usize>> {
        self.make_room(limit);
        let mut free = ReadBuf::new(self.data.get_mut(self.end..).unwrap_or_default());
        let polled = Pin::new(stream).poll_read(cx, &mut free);
        let read = free.filled().len();
        self.end += read;
        if self.is_empty() {
            self.release();
        }
        ready!(polled)?;
        Poll::Ready(Ok(read))
    }

    fn make_room(&mut self, limit: usize) {
        if self.is_empty() && self.large != (self.data.len() == BULK) {
            self.release();
        }
        if self.data.is_empty() {
            self.data = self.buffers.take(self.large);
        } else if self.end == self.data.len() {
            if self.start > 0 {
                self.data.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                let mut larger = std::mem::take(&mut self.data).into_vec();
                larger.resize((self.end * 2).min(limit.max(self.end + 1)), 0);
                self.data = larger.into();
            }
        }
    }

    /// Gives the memory back if nothing is in it.
    pub(crate) fn release(&mut self) {
        if self.is_empty() && !self.data.is_empty() {
            self.buffers.give_back(std::mem::take(&mut self.data));
        }
    }

    /// Forgets what was read and gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.consume(self.end);
        self.release();
    }

    /// Takes everything that was read, for another protocol.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let taken = self.filled().to_vec();
        self.consume(taken.len());
        self.release();
        taken
    }
}

impl Drop for InBuf {
    fn drop(&mut self) {
        self.clear();
    }
}

impl OutBuf {
    pub(crate) fn new(buffers: &Rc<Buffers>) -> OutBuf {
        OutBuf { buffers: Rc::clone(buffers), data: Vec::new(), written: 0 }
    }

    /// Where to append.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        if self.data.capacity() == 0
            && let Some(kept) = self.buffers.write.borrow_mut().pop()
        {
            self.data = kept;
        }
        &mut self.data
    }

    /// How many bytes are still to be written.
    pub(crate) fn pending(&self) -> usize {
        self.data.len() - self.written
    }

    /// Writes everything; ready when nothing is left.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.data.get(self.written..) {
            match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Whether nothing has been written yet.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.written == 0
    }

    /// Forgets everything; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.written = 0;
    }

    /// Forgets everything and gives the memory back.
    pub(crate) fn release(&mut self) {
        self.clear();
        let data = std::mem::take(&mut self.data);
        let mut kept = self.buffers.write.borrow_mut();
        if (1..=KEPT_CAPACITY).contains(&data.capacity()) && kept.len() < KEPT {
            kept.push(data);
        }
    }
}

impl Drop for OutBuf {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn an_idle_connection_holds_no_buffer() {
        let buffers = Rc::new(Buffers::default());
        let mut input = InBuf::new(&buffers);
        let mut stream = tokio_test_stream(b"hello");
        let read = std::future::poll_fn(|cx| input.poll_fill(cx, &mut stream, 1 << 16)).await.unwrap();
        assert_eq!((read, input.filled()), (5, &b"hello"[..]));
        input.consume(5);
        input.release();
        assert!(input.data.is_empty());
        assert_eq!(buffers.read.borrow().len(), 1);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_long_head_grows_the_buffer_up_to_the_limit() {
        let buffers = Rc::new(Buffers::default());
        let mut input = InBuf::new(&buffers);
        let text = vec![b'x'; 40_000];
        let mut stream = tokio_test_stream(&text);
        while input.filled().len() < text.len() {
            std::future::poll_fn(|cx| input.poll_fill(cx, &mut stream, 1 << 16)).await.unwrap();
        }
        assert_eq!(input.filled(), text);
        input.consume(39_999);
        assert_eq!(input.take(), b"x");
        assert!(buffers.read.borrow().is_empty(), "a buffer of unusual size is not kept");
    }

    fn tokio_test_stream(bytes: &[u8]) -> Prefix {
        Prefix(bytes.to_vec())
    }

    struct Prefix(Vec<u8>);

    impl AsyncRead for Prefix {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let taken = self.0.len().min(buf.remaining());
            buf.put_slice(&self.0[..taken]);
            self.0.drain(..taken);
            Poll::Ready(Ok(()))
        }
    }
}
