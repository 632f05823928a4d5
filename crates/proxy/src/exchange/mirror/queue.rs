//! A request's body between the request and its copy: a slow copy is lost, and never slows the request.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use portcullis_http1::Fields;

use crate::budget::{Budget, Share};

/// What a copy has not yet taken of the body.
pub(super) struct Queue(RefCell<State>);

struct State {
    waiting: VecDeque<Bytes>,
    share: Share,
    /// What may wait, in bytes.
    limit: usize,
    trailers: Fields,
    ended: bool,
    /// There is no rest: too much waited, or the request was given up.
    lost: bool,
    waker: Option<Waker>,
}

/// The end of a queue through which the request fills it. Dropped before the body's end, the copy is lost.
pub(in crate::exchange) struct Tap(Rc<Queue>);

impl Queue {
    /// An empty one, whose request may have no body.
    pub(super) fn new(budget: &Rc<Budget>, limit: usize, bodiless: bool) -> Rc<Queue> {
        Rc::new(Queue(RefCell::new(State {
            waiting: VecDeque::new(),
            share: Share::of(budget),
            limit,
            trailers: Fields::new(),
            ended: bodiless,
            lost: false,
            waker: None,
        })))
    }

    /// The next bytes, or that there are no more; none if the rest is lost.
    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Option<Bytes>>> {
        let mut state = self.0.borrow_mut();
        if state.lost {
            return Poll::Ready(None);
        }
        if let Some(data) = state.waiting.pop_front() {
            state.share.shrink(data.len());
            return Poll::Ready(Some(Some(data)));
        }
        if state.ended {
            return Poll::Ready(Some(None));
        }
        state.listen(cx);
        Poll::Pending
    }

    /// Ready when the rest is lost.
    pub(super) fn poll_lost(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.borrow_mut();
        if state.lost {
            return Poll::Ready(());
        }
        state.listen(cx);
        Poll::Pending
    }

    /// Whether everything has been taken.
    pub(super) fn is_taken(&self) -> bool {
        let state = self.0.borrow();
        state.ended && state.waiting.is_empty()
    }

    pub(super) fn trailers(&self) -> Fields {
        self.0.borrow().trailers.clone()
    }
}

impl State {
    fn listen(&mut self, cx: &Context<'_>) {
        if self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    fn lose(&mut self) {
        self.lost = true;
        self.waiting.clear();
        self.share.shrink(self.share.held());
    }
}

impl Tap {
    pub(super) fn new(queue: &Rc<Queue>) -> Tap {
        Tap(Rc::clone(queue))
    }

    /// Bytes of the body.
    pub(in crate::exchange) fn push(&self, data: &Bytes) {
        let mut state = self.0.0.borrow_mut();
        if state.lost || data.is_empty() {
            return;
        }
        if state.share.held() + data.len() <= state.limit && state.share.grow(data.len()) {
            state.waiting.push_back(data.clone());
        } else {
            state.lose();
        }
        state.wake();
    }

    /// Its end.
    pub(in crate::exchange) fn end(&self, trailers: &Fields) {
        let mut state = self.0.0.borrow_mut();
        state.trailers.clone_from(trailers);
        state.ended = true;
        state.wake();
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let mut state = self.0.0.borrow_mut();
        if !state.ended {
            state.lose();
            state.wake();
        }
    }
}
