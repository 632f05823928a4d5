//! A request's body on its way to an endpoint that speaks HTTP/2.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use portcullis_http1::Fields;

use crate::http2;

/// What of the body waits to be taken, and the trailers.
#[derive(Default)]
pub(in crate::exchange) struct Frames {
    waiting: VecDeque<Bytes>,
    pending: usize,
    trailers: Option<HeaderMap>,
}

impl Frames {
    pub(super) fn clear(&mut self) {
        *self = Frames::default();
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
        Some(next)
    }

    /// The trailers, once everything else was taken.
    pub(in crate::exchange) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }
}
