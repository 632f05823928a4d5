//! Forwarding: to which endpoint, over which connection, and when once more.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use portcullis_http1::RequestHead;

use super::deadlines::Deadlines;
use super::endpoint::{Endpoint, Http1, Http2};
use super::relay::{Outcome, Relay};
use super::{Downstream, Ended, Failed, Outgoing, Surroundings};
use crate::buffers::InBuf;
use crate::error::{ProxyError, Replay, Stage};
use crate::filters::rewritten;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::tables::rule::{Backend, CompiledTarget};
use crate::telemetry::Record;
use crate::upstream::{Connected, LocalTarget, Taken, Wish};

/// Sends a request to a backend and relays its answer.
pub(super) async fn forward<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    (rule, backend): (&CompiledRule, &Backend),
    prefix_len: Option<usize>,
) -> Result<Ended, Failed> {
    let cluster = match &backend.target {
        CompiledTarget::Cluster(cluster) => cluster,
        CompiledTarget::Fail(refusal) => {
            let error = ProxyError::configuration(refusal.reason);
            return Err(Failed { error, status: refusal.status });
        }
    };
    apply_filters(&mut scratch.request, rule, backend, prefix_len);
    scratch.outgoing.start(&scratch.request)?;
    let mut attempts = Attempts {
        taken: around.worker.pools.take(cluster)?,
        deadline: rule.request_timeout.map(|timeout| record.started + timeout),
        replayable: scratch.request.method().is_idempotent() && scratch.outgoing.is_bodiless(),
        wish: scratch.request.upgrade().map_or(Wish::Any, |_| Wish::Upgrade),
        tried: 0,
        fresh: false,
    };
    loop {
        let (target, connected, deadlines) = attempts.upstream(around, down, rule, record).await?;
        let exchange = Exchange { around, filters: (rule, backend), target, deadlines };
        let error = match exchange.run(scratch, down, record, connected).await {
            Ok(ended) => return Ok(ended),
            Err(error) => error,
        };
        if !attempts.again(&error, &scratch.outgoing) {
            return Err(error.into());
        }
        record.attempts -= 1; // another connection is not a retry
        around.worker.metrics.replays.add(1);
    }
}

/// The attempts of a request at its backend.
struct Attempts {
    taken: Taken,
    /// When all of them have to be over.
    deadline: Option<Instant>,
    /// Sending the request twice is as good as once.
    replayable: bool,
    wish: Wish,
    /// Endpoints that failed.
    tried: usize,
    /// Pooled connections are not to be trusted any more.
    fresh: bool,
}

impl Attempts {
    /// A connection to an endpoint. Without a retry policy, a failed connect tries one more endpoint.
    async fn upstream<D: Downstream>(
        &mut self,
        around: &Surroundings<'_>,
        down: &mut D,
        rule: &CompiledRule,
        record: &mut Record,
    ) -> Result<(Rc<LocalTarget>, Connected, Deadlines), ProxyError> {
        let pools = &around.worker.pools;
        loop {
            let endpoint = self.taken.endpoint(self.tried).ok_or(ProxyError::internal(Stage::Connect))?;
            record.endpoint = Some(Rc::clone(endpoint));
            record.attempts += 1;
            let deadlines = Deadlines::new(self.deadline, rule.backend_timeout);
            if !self.fresh
                && let Some(pooled) = pools.reuse(endpoint, self.wish)
            {
                around.worker.metrics.upstream_reuses.add(1);
                return Ok((Rc::clone(endpoint), pooled, deadlines));
            }
            match connect(around, down, endpoint, self.wish, &deadlines).await {
                Ok(connected) => return Ok((Rc::clone(endpoint), connected, deadlines)),
                Err(error) if error.is_the_clients() => return Err(error),
                Err(_) if self.tried == 0 && self.taken.endpoints() > 1 && !deadlines.passed() => {
                    self.tried = 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the request may be sent again, once, on another connection: none of it was sent, or the endpoint says
    /// that it did not process it, or a pooled connection closed without a byte of an answer.
    fn again(&mut self, error: &ProxyError, outgoing: &Outgoing) -> bool {
        let safe = match error.replay {
            Replay::NothingSent => true,
            Replay::Unprocessed => outgoing.can_rewind(),
            Replay::ReusedClosed => self.replayable,
            Replay::Never => false,
        };
        if error.replay == Replay::Unprocessed {
            self.tried += 1; // another endpoint may take what this one does not
        }
        safe && !std::mem::replace(&mut self.fresh, true)
    }
}

/// What an attempt happens in.
struct Exchange<'a> {
    around: &'a Surroundings<'a>,
    filters: (&'a CompiledRule, &'a Backend),
    target: Rc<LocalTarget>,
    deadlines: Deadlines,
}

impl Exchange<'_> {
    /// Makes the attempt, in the version that the endpoint speaks.
    async fn run<D: Downstream>(
        self,
        scratch: &mut Scratch,
        down: &mut D,
        record: &mut Record,
        connected: Connected,
    ) -> Result<Ended, ProxyError> {
        let worker = self.around.worker;
        let limits = &worker.shared.options.limits;
        match connected {
            Connected::Http1(upstream) => {
                let endpoint = Http1::new(upstream, limits);
                let (endpoint, outcome) = self.relay(scratch, down, record, endpoint).await?;
                if outcome.switched {
                    let said = std::mem::replace(&mut scratch.input, InBuf::new(&worker.buffers));
                    return Ok(Ended::Switched(endpoint.upstream.stream, said));
                }
                if outcome.in_step && scratch.input.is_empty() && scratch.response.keep_alive() {
                    worker.pools.give_back(&self.target, endpoint.upstream);
                }
            }
            Connected::Http2(place) => {
                let endpoint = Http2::new(place, Rc::clone(&self.target), limits);
                // Apart, so that the task of a client's connection is no larger for it.
                Box::pin(self.relay(scratch, down, record, endpoint)).await?;
            }
        }
        Ok(Ended::Answered)
    }

    async fn relay<D: Downstream, E: Endpoint>(
        &self,
        scratch: &mut Scratch,
        down: &mut D,
        record: &mut Record,
        endpoint: E,
    ) -> Result<(E, Outcome), ProxyError> {
        if !scratch.outgoing.begin(&scratch.request, E::WIRE) {
            return Err(ProxyError::internal(Stage::SendRequest));
        }
        let mut relay =
            Relay::new(self.around, scratch, down, record, self.filters, endpoint, self.deadlines);
        let relayed = poll_fn(|cx| relay.poll(cx)).await;
        self.around.timer.clear();
        match relayed {
            Ok(()) => Ok(relay.into_endpoint()),
            Err(error) => {
                relay.abandon();
                Err(error)
            }
        }
    }
}

/// The rule's filters, then the backend's. Of two path changes the backend's holds: both mean the path that the
/// rule matched.
fn apply_filters(head: &mut RequestHead, rule: &CompiledRule, backend: &Backend, prefix_len: Option<usize>) {
    if let Some(change) = backend.filters.path().or(rule.filters.path()) {
        let path = std::str::from_utf8(head.path()).unwrap_or("/");
        let path = rewritten(change, path, prefix_len).into_owned();
        head.set_path(path.as_bytes());
    }
    rule.filters.on_request(head);
    backend.filters.on_request(head);
}

/// Connects to an endpoint, unless the client goes before that.
async fn connect<D: Downstream>(
    around: &Surroundings<'_>,
    down: &mut D,
    endpoint: &LocalTarget,
    wish: Wish,
    deadlines: &Deadlines,
) -> Result<Connected, ProxyError> {
    let limit = around.worker.shared.options.limits.connect_timeout;
    let left = deadlines.first().map(|(at, _)| at.saturating_duration_since(Instant::now()));
    let timeout = left.map_or(limit, |left| left.min(limit)).max(Duration::from_millis(1));
    around.worker.metrics.upstream_connects.add(1);
    let mut connecting = pin!(around.worker.pools.connect(endpoint, wish, around.timer, timeout));
    let connected = poll_fn(|cx| match down.poll_gone(cx) {
        Poll::Ready(gone) => Poll::Ready(Err(gone)),
        Poll::Pending => connecting.as_mut().poll(cx),
    });
    connected.await.map_err(|error| {
        if error.is_the_clients() {
            return error;
        }
        around.worker.metrics.upstream_connect_failures.add(1);
        match deadlines.first().filter(|_| error.reason == Reason::ConnectTimeout && deadlines.passed()) {
            Some((_, reason)) => ProxyError { reason, ..error },
            None => error,
        }
    })
}
