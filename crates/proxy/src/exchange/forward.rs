//! Forwarding: to which endpoint, over which connection, and when once more.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use portcullis_http1::RequestHead;

use super::deadlines::Deadlines;
use super::relay::Relay;
use super::{Downstream, Ended, Failed, Surroundings};
use crate::buffers::InBuf;
use crate::error::{ProxyError, Replay, Stage};
use crate::filters::rewritten;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::tables::rule::{Backend, CompiledTarget};
use crate::telemetry::Record;
use crate::upstream::{LocalTarget, Taken, Upstream, UpstreamStream};

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
        replayable: scratch.request.method().is_idempotent() && scratch.outgoing.can_rewind(),
        failed_connects: 0,
        fresh: false,
    };
    loop {
        let (endpoint, upstream, deadlines) = attempts.upstream(around, down, rule, record).await?;
        let relayed = relay(around, scratch, down, record, (rule, backend), upstream, deadlines).await;
        let error = match relayed {
            Ok(Relayed::Switched(stream)) => {
                let fresh = InBuf::new(&around.worker.buffers);
                return Ok(Ended::Switched(stream, std::mem::replace(&mut scratch.input, fresh)));
            }
            Ok(Relayed::Answered(reusable)) => {
                if let Some(upstream) = reusable {
                    around.worker.pools.give_back(&endpoint, upstream);
                }
                return Ok(Ended::Answered);
            }
            Err(error) => error,
        };
        if !attempts.again(&error) {
            return Err(error.into());
        }
        record.attempts -= 1; // another connection is not a retry
        around.worker.metrics.replays.add(1);
        scratch.outgoing.rewind();
    }
}

/// The attempts of a request at its backend.
struct Attempts {
    taken: Taken,
    /// When all of them have to be over.
    deadline: Option<Instant>,
    /// Sending the request twice is as good as once.
    replayable: bool,
    failed_connects: usize,
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
    ) -> Result<(Rc<LocalTarget>, Upstream, Deadlines), ProxyError> {
        let pools = &around.worker.pools;
        loop {
            let endpoint =
                self.taken.endpoint(self.failed_connects).ok_or(ProxyError::internal(Stage::Connect))?;
            record.endpoint = Some(Rc::clone(endpoint));
            record.attempts += 1;
            let deadlines = Deadlines::new(self.deadline, rule.backend_timeout);
            if !self.fresh
                && let Some(pooled) = pools.reuse(endpoint)
            {
                around.worker.metrics.upstream_reuses.add(1);
                return Ok((Rc::clone(endpoint), pooled, deadlines));
            }
            match connect(around, down, endpoint, &deadlines).await {
                Ok(upstream) => return Ok((Rc::clone(endpoint), upstream, deadlines)),
                Err(error) if error.is_the_clients() => return Err(error),
                Err(_) if self.failed_connects == 0 && self.taken.endpoints() > 1 && !deadlines.passed() => {
                    self.failed_connects = 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the request may be sent again, on a new connection: none of it was sent, or a pooled connection
    /// closed without a byte of an answer.
    fn again(&mut self, error: &ProxyError) -> bool {
        let safe = match error.replay {
            Replay::NothingSent => true,
            Replay::ReusedClosed => self.replayable,
            Replay::Never => false,
        };
        safe && !std::mem::replace(&mut self.fresh, true)
    }
}

enum Relayed {
    /// With the connection, if it can serve another request.
    Answered(Option<Upstream>),
    Switched(UpstreamStream),
}

async fn relay<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    filters: (&CompiledRule, &Backend),
    upstream: Upstream,
    deadlines: Deadlines,
) -> Result<Relayed, ProxyError> {
    let mut relay = Relay::new(around, scratch, down, record, filters, upstream, deadlines);
    let relayed = poll_fn(|cx| relay.poll(cx)).await;
    around.timer.clear();
    if let Err(error) = relayed {
        relay.abandon();
        return Err(error);
    }
    let (upstream, switched, reusable) = relay.into_upstream();
    Ok(match (switched, reusable) {
        (true, _) => Relayed::Switched(upstream.stream),
        (false, true) => Relayed::Answered(Some(upstream)),
        (false, false) => Relayed::Answered(None),
    })
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
    deadlines: &Deadlines,
) -> Result<Upstream, ProxyError> {
    let limit = around.worker.shared.options.limits.connect_timeout;
    let left = deadlines.first().map(|(at, _)| at.saturating_duration_since(Instant::now()));
    let timeout = left.map_or(limit, |left| left.min(limit)).max(Duration::from_millis(1));
    around.worker.metrics.upstream_connects.add(1);
    let mut connecting = pin!(around.worker.pools.connect(endpoint, around.timer, timeout));
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
