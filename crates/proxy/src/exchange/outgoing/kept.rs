//! A request's body, kept to be sent once more.

use std::rc::Rc;

use bytes::Bytes;
use portcullis_http1::Fields;

use crate::budget::{Budget, Share};

/// The body from its beginning, while it may have to be sent again and is small enough.
pub(super) struct Kept {
    on: bool,
    /// What is here is all there ever was.
    whole: bool,
    data: Vec<Bytes>,
    trailers: Fields,
    share: Share,
    /// What one request may keep, in bytes, where nothing else is said.
    limit: usize,
    /// What this one may keep.
    allowed: usize,
}

impl Kept {
    pub(super) fn new(budget: &Rc<Budget>, limit: usize) -> Kept {
        let (data, trailers) = (Vec::new(), Fields::new());
        Kept { on: false, whole: true, data, trailers, share: Share::of(budget), limit, allowed: limit }
    }

    /// Nothing is kept of the next request, unless it is asked for.
    pub(super) fn reset(&mut self) {
        self.forget();
        (self.on, self.whole, self.allowed) = (false, true, self.limit);
    }

    /// What comes from now on is kept.
    pub(super) fn keep(&mut self) {
        self.on = true;
    }

    /// What comes from now on is kept, up to this many bytes.
    pub(super) fn keep_up_to(&mut self, bytes: usize) {
        (self.on, self.allowed) = (true, bytes);
    }

    /// Whether what comes is kept.
    pub(super) fn keeps(&self) -> bool {
        self.on && self.whole
    }

    pub(super) fn push(&mut self, data: Bytes) {
        if !self.on || data.is_empty() {
            self.whole &= self.on || data.is_empty();
        } else if self.whole && self.share.held() + data.len() <= self.allowed && self.share.grow(data.len())
        {
            self.data.push(data);
        } else {
            self.forget();
        }
    }

    pub(super) fn end(&mut self, trailers: &Fields) {
        if self.keeps() {
            self.trailers.clone_from(trailers);
        }
    }

    /// Nothing will be sent again, or cannot be.
    pub(super) fn forget(&mut self) {
        self.whole = false;
        self.data = Vec::new();
        self.trailers.clear();
        self.share.shrink(self.share.held());
    }

    /// The body so far, if it is here.
    pub(super) fn body(&self) -> Option<(&[Bytes], &Fields)> {
        self.keeps().then_some((&*self.data, &self.trailers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kept: &Kept) -> Option<Vec<u8>> {
        kept.body().map(|(data, _)| data.concat())
    }

    #[test]
    fn what_was_asked_for_and_fits_is_kept() {
        let mut kept = Kept::new(&Budget::new(100), 6);
        kept.keep();
        kept.push(Bytes::from_static(b"abc"));
        kept.push(Bytes::from_static(b"def"));
        assert_eq!(body(&kept), Some(b"abcdef".to_vec()));
        kept.push(Bytes::from_static(b"g"));
        assert_eq!(body(&kept), None);
        kept.push(Bytes::from_static(b"h"));
        assert_eq!(body(&kept), None, "a part of a body is none");
    }

    #[test]
    fn all_requests_together_keep_no_more_than_the_budget() {
        let budget = Budget::new(5);
        let (mut one, mut other) = (Kept::new(&budget, 5), Kept::new(&budget, 5));
        for kept in [&mut one, &mut other] {
            kept.keep();
            kept.push(Bytes::from_static(b"abc"));
        }
        assert_eq!((body(&one), body(&other)), (Some(b"abc".to_vec()), None));
        one.reset();
        other.reset();
        other.keep();
        other.push(Bytes::from_static(b"abcde"));
        assert_eq!(body(&other), Some(b"abcde".to_vec()));
    }
}
