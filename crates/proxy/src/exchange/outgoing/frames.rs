//! A request's body on its way to an endpoint that speaks HTTP/2.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use portcullis_http1::Fields;

use crate::http2;

/// The body and its trailers. What was taken is kept for a while: an endpoint that refuses a stream has mostly taken
/// the body of it, and a gRPC call always has one.
pub(in crate::exchange) struct Frames {
    waiting: VecDeque<Bytes>,
    pending: usize,
    taken: Vec<Bytes>,
    taken_len: usize,
    /// What `taken` may hold, in bytes.
    replayed: usize,
    /// `taken` and `waiting` are all there ever was.
    whole: bool,
    trailers: Option<HeaderMap>,
}

impl Frames {
    pub(super) fn new(replayed: usize) -> Frames {
        Frames {
            waiting: VecDeque::new(),
            pending: 0,
            taken: Vec::new(),
            taken_len: 0,
            replayed,
            whole: true,
            trailers: None,
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Frames::new(self.replayed);
    }

    /// Starts over with what was taken. False if that is no longer here.
    pub(super) fn rewind(&mut self) -> bool {
        for data in std::mem::take(&mut self.taken).into_iter().rev() {
            self.pending += data.len();
            self.waiting.push_front(data);
        }
        self.taken_len = 0;
        self.whole
    }

    /// Nothing will be sent again.
    pub(super) fn forget(&mut self) {
        (self.taken, self.taken_len, self.whole) = (Vec::new(), 0, false);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn push(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.pending += data.len();
            self.waiting.push_back(data);
        }
    }

    pub(super) fn end(&mut self, trailers: &Fields) {
        self.trailers = (!trailers.is_empty()).then(|| http2::headers(trailers, None));
    }

    /// How many bytes wait.
    pub(in crate::exchange) fn pending(&self) -> usize {
        self.pending
    }

    /// Takes the next bytes, no more than the endpoint has room for.
    pub(in crate::exchange) fn take(&mut self, room: usize) -> Option<Bytes> {
        let mut next = self.waiting.pop_front()?;
        if next.len() > room {
            self.waiting.push_front(next.split_off(room));
        }
        self.pending -= next.len();
        self.taken_len += next.len();
        if self.whole && self.taken_len <= self.replayed {
            self.taken.push(next.clone());
        } else {
            self.forget();
        }
        Some(next)
    }

    /// The trailers, once everything else was taken.
    pub(in crate::exchange) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(frames: &mut Frames, room: usize) -> Vec<u8> {
        std::iter::from_fn(|| frames.take(room)).flatten().collect()
    }

    #[test]
    fn what_was_taken_can_be_taken_again_in_the_same_order() {
        let mut frames = Frames::new(8);
        frames.push(Bytes::from_static(b"abc"));
        frames.push(Bytes::from_static(b"defgh"));
        assert_eq!(frames.take(2).unwrap(), "ab");
        assert_eq!(all(&mut frames, 4), b"cdefgh");
        assert_eq!(frames.pending(), 0);
        assert!(frames.rewind());
        assert_eq!((frames.pending(), all(&mut frames, 100)), (8, b"abcdefgh".to_vec()));
    }

    #[test]
    fn more_than_may_be_kept_is_not() {
        let mut frames = Frames::new(4);
        frames.push(Bytes::from_static(b"abcde"));
        assert!(frames.is_whole());
        all(&mut frames, 3);
        assert!(!frames.is_whole() && frames.taken.is_empty());
        assert!(!frames.rewind());
    }
}
