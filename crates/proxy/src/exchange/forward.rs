//! Forwarding: to which endpoint, over which connection, and when once more.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use portcullis_http1::RequestHead;
use portcullis_model::Retry;

use super::attempts::{Attempts, Next};
use super::deadlines::Deadlines;
use super::endpoint::{Endpoint, Http1, Http2};
use super::relay::{Outcome, Relay};
use super::{Downstream, Ended, Failed, Surroundings};
use crate::buffers::InBuf;
use crate::error::{ProxyError, Stage};
use crate::filters::{Filters, rewritten};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::rule::Treatment;
use crate::tables::rule::{Backend, CompiledTarget};
use crate::telemetry::Record;
use crate::upstream::{Connected, LocalTarget, Wish};

/// Sends a request to a backend and relays its answer.
pub(super) async fn forward<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    (rule, backend): (&Treatment, &Backend),
    prefix_len: Option<usize>,
) -> Result<Ended, Failed> {
    let cluster = match &backend.target {
        CompiledTarget::Cluster(cluster) => cluster,
        CompiledTarget::Fail(refusal) => {
            let error = ProxyError::configuration(refusal.reason);
            return Err(Failed { error, status: refusal.status });
        }
    };
    filter(&mut scratch.request, &[&rule.filters, &backend.filters], prefix_len);
    if !scratch.outgoing.is_held() {
        scratch.outgoing.start(&scratch.request)?;
    }
    let mut attempts = Attempts::new(around, scratch, (rule, cluster), record.started)?;
    loop {
        let next = match attempt(around, scratch, down, record, backend, &mut attempts).await {
            Ok(Some(ended)) => return Ok(ended),
            Ok(None) => attempts.follow(false),
            Err(error) => attempts.after(&error, &scratch.outgoing).ok_or(error)?,
        };
        match next {
            Next::Reconnect => {
                record.attempts -= 1;
                around.worker.metrics.replays.add(1);
            }
            Next::Retry => {
                around.worker.metrics.retries.add(1);
                attempts.pause(around, down).await?;
            }
        }
    }
}

/// Makes an attempt. None if its answer is one that the rule wants to have tried again.
async fn attempt<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    backend: &Backend,
    attempts: &mut Attempts<'_>,
) -> Result<Option<Ended>, ProxyError> {
    let policy = attempts.policy();
    if policy.is_some() {
        scratch.outgoing.keep();
    }
    let target = attempts.target()?;
    record.endpoint = Some(Rc::clone(&target));
    record.attempts += 1;
    let deadlines = attempts.deadlines();
    let pools = &around.worker.pools;
    let reused = if attempts.fresh { None } else { pools.reuse(&target, attempts.wish) };
    let connected = match reused {
        Some(pooled) => {
            around.worker.metrics.upstream_reuses.add(1);
            pooled
        }
        // Apart, so that the task of a client's connection is no larger for it.
        None => Box::pin(connect(around, down, &target, attempts.wish, &deadlines)).await?,
    };
    let exchange = Exchange { around, filters: (attempts.rule, backend), policy, target, deadlines };
    let ended = exchange.run(scratch, down, record, connected).await;
    ended.inspect_err(|error| exchange.target.target.health.note_failure(error))
}

/// What an attempt happens in.
struct Exchange<'a> {
    around: &'a Surroundings<'a>,
    filters: (&'a Treatment, &'a Backend),
    /// What is to be tried again; none if nothing is.
    policy: Option<&'a Retry>,
    target: Rc<LocalTarget>,
    deadlines: Deadlines,
}

impl Exchange<'_> {
    /// Makes the attempt, in the version that the endpoint speaks; none if it is to be followed by another.
    async fn run<D: Downstream>(
        &self,
        scratch: &mut Scratch,
        down: &mut D,
        record: &mut Record,
        connected: Connected,
    ) -> Result<Option<Ended>, ProxyError> {
        let worker = self.around.worker;
        let limits = &worker.shared.options.limits;
        match connected {
            Connected::Http1(upstream) => {
                let endpoint = Http1::new(upstream, limits);
                let (endpoint, outcome) = self.relay(scratch, down, record, endpoint).await?;
                if outcome.again {
                    return Ok(None); // its connection goes, and with it an answer of any length
                }
                if outcome.switched {
                    let said = std::mem::replace(&mut scratch.input, InBuf::new(&worker.buffers));
                    return Ok(Some(Ended::Switched(endpoint.upstream.stream, said)));
                }
                if outcome.in_step && scratch.input.is_empty() && scratch.response.keep_alive() {
                    worker.pools.give_back(&self.target, endpoint.upstream);
                }
            }
            Connected::Http2(place) => {
                let endpoint = Http2::new(place, Rc::clone(&self.target), limits);
                // Apart, so that the task of a client's connection is no larger for it.
                let (endpoint, outcome) = Box::pin(self.relay(scratch, down, record, endpoint)).await?;
                if outcome.again {
                    endpoint.abandon(true);
                    return Ok(None);
                }
                if outcome.switched {
                    let none = ProxyError::internal(Stage::RelayAnswer);
                    let stream = endpoint.into_tunnel().ok_or(none)?;
                    return Ok(Some(Ended::Switched(stream, InBuf::new(&worker.buffers))));
                }
            }
        }
        Ok(Some(Ended::Answered))
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
        let mut relay = Relay::new(
            self.around,
            scratch,
            down,
            record,
            (self.filters, self.policy),
            endpoint,
            self.deadlines,
        );
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

/// Applies filters, the rule's before the backend's. Of two path changes the last holds: both mean the path that the
/// rule matched.
pub(super) fn filter(head: &mut RequestHead, filters: &[&Filters], prefix_len: Option<usize>) {
    if let Some(change) = filters.iter().rev().find_map(|filters| filters.path()) {
        let path = std::str::from_utf8(head.path()).unwrap_or("/");
        let path = rewritten(change, path, prefix_len).into_owned();
        head.set_path(path.as_bytes());
    }
    filters.iter().for_each(|filters| filters.on_request(head));
}

/// How long an endpoint that cannot be connected to must have had, for that to be told of it: the time after which a
/// lost first packet is sent anew (RFC 6298 §2).
const TELLING: Duration = Duration::from_secs(1);

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
        // A rule that leaves no time to connect says nothing of the endpoint.
        if error.reason != Reason::ConnectTimeout || timeout >= TELLING {
            endpoint.target.health.note_failure(&error);
        }
        match deadlines.first().filter(|_| error.reason == Reason::ConnectTimeout && deadlines.passed()) {
            Some((_, reason)) => ProxyError { reason, ..error },
            None => error,
        }
    })
}
