//! HTTP/2 from clients, by the `h2` crate: a task for the connection, and one for each stream.

mod downstream;
mod guard;
mod request;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason as Http2Reason, RecvStream};
use http::Request;
use portcullis_http1::Version;
use portcullis_model::BindAddress;

use self::downstream::Http2;
use self::guard::{Guard, Seen};
use super::http1::LONG;
use super::resets::Resets;
use super::{Connection, PREFACE};
use crate::buffers::InBuf;
use crate::exchange::{Client, Ended, Surroundings, run};
use crate::http2::Pulse;
use crate::limits::Limits;
use crate::reason::Reason;
use crate::stream::{Prefixed, Stream};
use crate::telemetry::Record;
use crate::timer::{Timer, within};
use crate::tunnel;
use crate::upstream::UpstreamStream;
use crate::worker::Worker;

/// Memory of a connection for answers that wait for the client, a stream, in bytes.
const SEND_BUFFER: usize = 64 * 1024;

/// What the streams of a connection share.
struct Shared {
    worker: Rc<Worker>,
    client: Client,
    address: BindAddress,
    streams: Cell<usize>,
    resets: RefCell<Resets>,
}

/// Where a connection stands.
struct Running {
    h2: h2::server::Connection<Guard<Prefixed<Stream>>, Bytes>,
    seen: Rc<Seen>,
    shared: Rc<Shared>,
    timer: Timer,
    pulse: Option<Pulse>,
    /// The client has been told to open no more streams.
    leaving: bool,
    /// The client has been told why its connection ends.
    ending: bool,
    /// What the timer was set for.
    waits_as: Option<Waiting>,
}

/// What the timer bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// A head that began then.
    Head(Instant),
    /// A connection without streams.
    Idle,
    /// The same, once the client has been told to leave.
    Leaving,
    /// Nothing: streams have their own.
    Streams,
}

/// Serves a connection to its end. `prefix` is what was read of it.
pub(super) async fn serve(connection: Connection, stream: Stream, prefix: Vec<u8>) {
    let Connection { worker, client, address, timer } = connection;
    let limits = &worker.shared.options.limits;
    let guard = Guard::new(Prefixed::new(prefix, stream), PREFACE.len(), limits.h2_control_frames);
    let seen = guard.seen();
    let handshake = builder(limits).handshake(guard);
    let mut h2 = match within(&timer, handshake).await {
        Some(Ok(h2)) => h2,
        Some(Err(_)) => return worker.metrics.refused(Reason::Http2Protocol),
        None => return worker.metrics.refused(Reason::ClientTimeout),
    };
    let pulse = Pulse::new(h2.ping_pong(), limits.h2_ping, limits.h2_ping_timeout, timer.another());
    let resets = RefCell::new(Resets::new(worker.shared.options.limits.h2_resets));
    let shared = Shared { worker, client, address, streams: Cell::new(0), resets };
    let shared = Rc::new(shared);
    let mut running =
        Running { h2, seen, shared, timer, pulse, leaving: false, ending: false, waits_as: None };
    poll_fn(|cx| running.poll(cx)).await;
}

fn builder(limits: &Limits) -> Builder {
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX >> 1);
    let mut builder = Builder::new();
    builder
        .enable_connect_protocol()
        .max_concurrent_streams(size(limits.h2_streams))
        // Twice the limit for heads: what lies between is answered with 431 and counted. What is larger still h2
        // answers with 431 itself, and no stream, error or counter of its own says so: those go uncounted.
        .max_header_list_size(size(limits.head_bytes.0.saturating_mul(2)))
        .initial_window_size(size(limits.h2_window_bytes.0))
        .initial_connection_window_size(size(limits.h2_connection_window_bytes.0))
        .max_local_error_reset_streams(Some(limits.h2_resets))
        .max_concurrent_reset_streams(limits.h2_resets)
        // Frames much smaller than their overhead are what streams of small messages consist of; half a window of
        // them, as `h2` would have it, is less than one such stream has waiting for a slow backend.
        .data_frame_budget(limits.h2_connection_window_bytes.0.saturating_mul(2))
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

impl Running {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let worker = &self.shared.worker;
        if worker.draining() || self.shared.client.is_leaving() {
            self.leave();
        }
        loop {
            match self.h2.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, respond)))) => self.start(request, respond),
                Poll::Ready(Some(Err(error))) => {
                    if !error.is_io() {
                        self.shared.worker.metrics.refused(Reason::Http2Protocol);
                    }
                    return Poll::Ready(());
                }
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => break,
            }
            self.bound();
        }
        self.bound();
        if self.poll_alive(cx).is_ready() {
            return Poll::Ready(());
        }
        self.poll_timeout(cx)
    }

    /// Ready when the client is dead, though it has open streams.
    fn poll_alive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (streams, seen) = (&self.shared.streams, &self.seen);
        let silent = || (streams.get() > 0).then(|| seen.heard().elapsed());
        self.pulse.as_mut().map_or(Poll::Pending, |pulse| pulse.poll(cx, silent))
    }

    /// Ends a connection that only makes work.
    fn bound(&mut self) {
        if self.seen.flooded() {
            self.end(Reason::Http2Protocol);
        } else if self.shared.resets.borrow().exceeded() {
            self.end(Reason::StreamResets);
        }
    }

    fn end(&mut self, reason: Reason) {
        if !std::mem::replace(&mut self.ending, true) {
            self.shared.worker.metrics.refused(reason);
            self.h2.abrupt_shutdown(Http2Reason::ENHANCE_YOUR_CALM);
        }
    }

    /// Has the client open no more streams; those that are open go on.
    fn leave(&mut self) {
        if !std::mem::replace(&mut self.leaving, true) {
            self.h2.graceful_shutdown();
        }
    }

    fn start(&mut self, request: Request<RecvStream>, respond: SendResponse<Bytes>) {
        self.shared.streams.set(self.shared.streams.get() + 1);
        let open = OpenStream(Rc::clone(&self.shared));
        tokio::task::spawn_local(async move { stream(&open.0, request, respond).await });
    }

    fn waiting(&self) -> Waiting {
        match self.seen.head_since() {
            Some(since) => Waiting::Head(since),
            None if self.shared.streams.get() > 0 => Waiting::Streams,
            None if self.leaving => Waiting::Leaving,
            None => Waiting::Idle,
        }
    }

    /// A connection without streams is told to go, and closed when it does not; one that leaves a head open is ended.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.waiting();
        if self.waits_as.replace(waiting) != Some(waiting) {
            let limits = &self.shared.worker.shared.options.limits;
            let timeout = match waiting {
                Waiting::Head(_) => limits.head_timeout,
                Waiting::Idle => limits.idle_timeout,
                Waiting::Leaving => limits.drain_idle_timeout,
                Waiting::Streams => Duration::ZERO,
            };
            // Never cleared: the wheel is where draining finds those that it has to wake.
            self.timer.set(if timeout.is_zero() { LONG } else { timeout });
        }
        std::task::ready!(self.timer.poll_expired(cx));
        match waiting {
            Waiting::Head(_) if !self.ending => self.end(Reason::ClientTimeout),
            Waiting::Idle => self.leave(),
            // It was told why, and does not take even that.
            Waiting::Head(_) | Waiting::Leaving | Waiting::Streams => return Poll::Ready(()),
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A stream, counted while it is open.
struct OpenStream(Rc<Shared>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get().saturating_sub(1));
    }
}

/// Serves one stream.
async fn stream(shared: &Shared, request: Request<RecvStream>, respond: SendResponse<Bytes>) {
    let worker = &shared.worker;
    let timer = worker.timer();
    let mut scratch = worker.scratches.take();
    let mut record = Record::new(shared.client.address, Version::Http2);
    let (parts, body) = request.into_parts();
    let limits = &worker.shared.options.limits;
    let nonce = || (u128::from(worker.random()) << 64 | u128::from(worker.random())).to_ne_bytes();
    let read = request::read(&mut scratch.request, &parts, &body, limits, nonce);
    let mut http2 = Http2::new(respond, body, &scratch.request);
    if let Err(refused) = read {
        (record.status, record.reason) = (refused.status, refused.reason);
        http2.refuse(refused.status);
        record.count(&worker.metrics);
    } else {
        let config = worker.config();
        let served = config.port(&shared.address);
        let around = Surroundings { worker, timer: &timer, client: &shared.client, served };
        let ended = run(&around, &mut scratch, &mut http2, &mut record).await;
        record.count(&worker.metrics);
        match ended {
            Ok(ended) => {
                worker.scratches.give_back(scratch);
                if let Ended::Switched(endpoint, said) = ended {
                    drop(config);
                    Box::pin(switch(worker, http2, endpoint, said, &mut record)).await;
                }
            }
            Err(error) => {
                if error.is_the_clients() && !http2.ended() {
                    shared.resets.borrow_mut().count();
                }
                http2.cut(error.code);
            }
        }
    }
    if let Some(log) = &worker.shared.access_log {
        log.write(&record);
    }
}

/// Serves a tunnel to its end.
async fn switch(
    worker: &Worker,
    http2: Http2,
    mut endpoint: UpstreamStream,
    said: InBuf,
    record: &mut Record,
) {
    let Some(mut stream) = http2.into_tunnel() else { return };
    let moved =
        tunnel::upgraded(&worker.metrics, &mut stream, InBuf::new(&worker.buffers), &mut endpoint, said);
    (record.received, record.sent) = moved.await;
}
