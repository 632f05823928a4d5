//! Copies of requests on their way to mirrors: each in a task of its own, which the request never waits for.

mod queue;

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use portcullis_http1::{Fields, Framing, Known, RequestHead, ResponseHead, Version};

use self::queue::Queue;
pub(super) use self::queue::Tap;
use super::forward::{filter, forward};
use super::{Client, Downstream, Outgoing, Surroundings};
use crate::buffers::READ;
use crate::error::{ProxyError, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::tables::rule::CompiledMirror;
use crate::telemetry::Record;
use crate::timer::Timer;
use crate::worker::Worker;

/// Begins the copies of a request, as the rule's filters would leave it. Its body reaches them through `scratch`.
pub(super) fn begin(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    rule: &CompiledRule,
    prefix_len: Option<usize>,
) {
    if scratch.request.upgrade().is_some() {
        return; // what goes through a tunnel is no request
    }
    for mirror in &rule.mirrors {
        let worker = around.worker;
        if !mirror.share.takes(worker.random()) {
            continue;
        }
        let Some(place) = worker.mirrored.take() else {
            worker.metrics.mirrors_lost.add(1);
            continue;
        };
        worker.metrics.mirrored.add(1);
        let mut head = scratch.request.clone();
        head.fields.remove_known(Known::Expect); // the body comes without being asked for
        filter(&mut head, &[&rule.treatment.filters], prefix_len);
        let limit = worker.shared.options.limits.mirror_bytes.0;
        let queue = Queue::new(&worker.copies, limit, head.framing() == Framing::None);
        scratch.outgoing.tap(Tap::new(&queue));
        let (worker, mirror) = (Rc::clone(worker), Arc::clone(mirror));
        tokio::task::spawn_local(async move {
            send(&worker, &mirror, head, queue).await;
            drop(place);
        });
    }
}

/// Sends a copy and drops its answer.
async fn send(worker: &Rc<Worker>, mirror: &CompiledMirror, head: RequestHead, queue: Rc<Queue>) {
    let timer = worker.timer();
    // Nothing is asked of the client: what the gateway says of it stands in the head.
    let client = Client::new(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), false);
    let around = Surroundings { worker, timer: &timer, client: &client, served: None };
    let mut scratch = worker.scratches.take();
    scratch.request = head;
    let mut copy = Copy {
        queue,
        patience: worker.shared.options.limits.mirror_timeout,
        timer: timer.another(),
        sent: false,
        begun: false,
        taken: 0,
    };
    let mut record = Record::new(client.address, Version::Http11);
    let backend = (&mirror.treatment, &mirror.backend);
    match forward(&around, &mut scratch, &mut copy, &mut record, backend, None).await {
        Ok(_) => worker.scratches.give_back(scratch),
        Err(_) => worker.metrics.mirrors_lost.add(1),
    }
}

/// What stands for the client of a copy: it has the body, and takes any answer.
struct Copy {
    queue: Rc<Queue>,
    /// How long it waits for the answer.
    patience: Duration,
    timer: Timer,
    /// The body was given away to its end.
    sent: bool,
    begun: bool,
    taken: u64,
}

fn gone() -> ProxyError {
    ProxyError::downstream(Stage::ReceiveBody, Reason::ClientClosed)
}

impl Downstream for Copy {
    fn poll_body(&mut self, cx: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>> {
        self.taken += 1;
        match ready!(self.queue.poll_next(cx)) {
            Some(Some(data)) => Poll::Ready(into.shared(data)),
            Some(None) => {
                into.end(&self.queue.trailers());
                Poll::Ready(Ok(()))
            }
            None => Poll::Ready(Err(gone())),
        }
    }

    /// The copy is gone when it was lost, or when its answer takes too long.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError> {
        if self.queue.poll_lost(cx).is_ready() {
            return Poll::Ready(gone());
        }
        if !self.sent && self.queue.is_taken() {
            self.sent = true;
            self.timer.set(self.patience);
        }
        self.timer.poll_expired(cx).map(|()| gone())
    }

    fn is_deaf(&self) -> bool {
        false
    }

    fn interim(&mut self, _: &ResponseHead) {}

    fn begin(&mut self, _: &ResponseHead, _: Framing, _: bool) -> Result<(), ProxyError> {
        self.begun = true;
        Ok(())
    }

    fn poll_room(&mut self, _: &mut Context<'_>) -> Poll<Result<usize, ProxyError>> {
        Poll::Ready(Ok(READ))
    }

    fn data(&mut self, _: &[u8]) -> Result<(), ProxyError> {
        Ok(())
    }

    fn end(&mut self, _: Option<&Fields>) -> Result<(), ProxyError> {
        Ok(())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        Poll::Ready(Ok(()))
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn progress(&self) -> u64 {
        self.taken
    }
}
