//! What a failed attempt is followed by: another connection, another attempt, or an error.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use portcullis_http1::RequestHead;
use portcullis_model::Retry;

use super::deadlines::Deadlines;
use super::{Downstream, Outgoing, Surroundings, websocket};
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::rule::Treatment;
use crate::upstream::{Cluster, LocalTarget, Taken, Wish};

/// How often a client is looked for that cannot be heard to go.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// The attempts of a request at its backend.
pub(super) struct Attempts<'r> {
    pub(super) rule: &'r Treatment,
    cluster: &'r Cluster,
    taken: Taken,
    /// When all of them have to be over.
    deadline: Option<Instant>,
    idempotent: bool,
    pub(super) wish: Wish,
    /// How many followed the first.
    followed: u32,
    /// Pooled connections are not to be trusted any more.
    pub(super) fresh: bool,
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The same once more on another connection, which is no attempt of its own.
    Reconnect,
    /// Another attempt, after a pause.
    Retry,
}

impl<'r> Attempts<'r> {
    pub(super) fn new(
        around: &Surroundings<'_>,
        scratch: &Scratch,
        (rule, cluster): (&'r Treatment, &'r Cluster),
        started: Instant,
    ) -> Result<Attempts<'r>, ProxyError> {
        Ok(Attempts {
            rule,
            cluster,
            taken: around.worker.pools.take(cluster)?,
            deadline: rule.request_timeout.map(|timeout| started + timeout),
            idempotent: scratch.request.method().is_idempotent(),
            wish: wish(&scratch.request),
            followed: 0,
            fresh: false,
        })
    }

    /// Where the next attempt goes.
    pub(super) fn target(&mut self) -> Result<Rc<LocalTarget>, ProxyError> {
        let none = ProxyError::upstream(Stage::Connect, Replay::NothingSent, Reason::NoEndpoint);
        self.taken.endpoint().cloned().ok_or(none)
    }

    /// When an attempt that begins now has to be over.
    pub(super) fn deadlines(&self) -> Deadlines {
        Deadlines::new(self.deadline, self.rule.backend_timeout)
    }

    /// The policy, while it has an attempt left.
    pub(super) fn policy(&self) -> Option<&'r Retry> {
        self.rule.retry.as_ref().filter(|retry| self.followed < retry.attempts)
    }

    /// What follows a failure; none if that is the last word.
    pub(super) fn after(&mut self, error: &ProxyError, outgoing: &Outgoing) -> Option<Next> {
        if error.is_the_clients() || self.passed() || !outgoing.can_rewind() {
            return None;
        }
        if self.reconnects(error, outgoing) && !std::mem::replace(&mut self.fresh, true) {
            if error.replay == Replay::Unprocessed {
                self.taken.next(false); // another endpoint may take what this one does not
            }
            return Some(Next::Reconnect);
        }
        let retried = match self.rule.retry {
            Some(_) => self.policy().is_some() && self.may_be_retried(error),
            // Without a policy a failed connect is followed by one try of another endpoint.
            None => self.followed == 0 && self.taken.endpoints() > 1 && error.stage == Stage::Connect,
        };
        retried.then(|| self.follow(error.stage == Stage::Connect))
    }

    /// Whether a failure says only that the connection was an old one, which the endpoint had given up: nothing of
    /// the request was sent, or the endpoint was leaving, or a bodiless idempotent request saw no byte of an answer.
    /// A stream that was refused is one of these only where there is no policy that counts it.
    fn reconnects(&self, error: &ProxyError, outgoing: &Outgoing) -> bool {
        match error.replay {
            Replay::NothingSent => error.stage != Stage::Connect,
            Replay::Unprocessed => error.code.is_none() || self.rule.retry.is_none(),
            Replay::ReusedClosed => self.idempotent && outgoing.is_bodiless(),
            Replay::Never => false,
        }
    }

    /// Whether a retry policy holds for a failure, whatever its codes: the backend cannot have processed the request,
    /// or took too long over one that may be processed twice.
    fn may_be_retried(&self, error: &ProxyError) -> bool {
        is_unprocessed(error) || (error.reason == Reason::BackendTimeout && self.idempotent)
    }

    /// Counts a further attempt, at an endpoint that was not tried if there is one.
    pub(super) fn follow(&mut self, unreachable: bool) -> Next {
        self.followed += 1;
        self.taken.next(unreachable);
        Next::Retry
    }

    fn passed(&self) -> bool {
        self.deadline.is_some_and(|at| at <= Instant::now())
    }

    /// Waits before a further attempt, unless the client goes or the request's time ends. Endpoints that have come
    /// meanwhile are tried too.
    pub(super) async fn pause<D: Downstream>(
        &mut self,
        around: &Surroundings<'_>,
        down: &mut D,
    ) -> Result<(), ProxyError> {
        let Some(retry) = &self.rule.retry else { return Ok(()) };
        let pause = retry.pause(self.followed.saturating_sub(1), around.worker.random());
        let until = Instant::now() + pause;
        let end = self.deadline.map_or(until, |deadline| deadline.min(until));
        let waited = poll_fn(|cx| poll_pause(cx, around, down, end)).await;
        around.timer.clear();
        waited?;
        if self.passed() {
            return Err(ProxyError::upstream(Stage::Connect, Replay::Never, Reason::RequestTimeout));
        }
        around.worker.pools.refresh(self.cluster, &mut self.taken);
        Ok(())
    }
}

/// What a request needs of its connection.
fn wish(request: &RequestHead) -> Wish {
    match request.upgrade() {
        None => Wish::Any,
        Some(_) if websocket::wants(request).is_some() => Wish::WebSocket,
        Some(_) => Wish::Upgrade,
    }
}

/// Whether a failure means that the backend has not processed the request.
fn is_unprocessed(error: &ProxyError) -> bool {
    error.stage == Stage::Connect || error.replay == Replay::Unprocessed
}

fn poll_pause<D: Downstream>(
    cx: &mut Context<'_>,
    around: &Surroundings<'_>,
    down: &mut D,
    end: Instant,
) -> Poll<Result<(), ProxyError>> {
    loop {
        if let Poll::Ready(gone) = down.poll_gone(cx) {
            return Poll::Ready(Err(gone));
        }
        let now = Instant::now();
        if end <= now {
            return Poll::Ready(Ok(()));
        }
        around.timer.set_at(if down.is_deaf() { end.min(now + LOOK) } else { end });
        ready!(around.timer.poll_expired(cx));
    }
}
