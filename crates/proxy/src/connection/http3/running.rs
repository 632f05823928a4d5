//! A connection under way, to its end.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use quinn::{RecvStream, SendStream};

use super::Shared;
use super::control::{self, Control, NO_STREAM};
use super::frame::Code;
use super::stream;
use crate::connection::http1::LONG;
use crate::reason::Reason;
use crate::timer::Timer;
use crate::tls::TlsListener;
use crate::worker::Worker;

/// How many round trips a client that is told to leave has, for the requests that it has sent before it heard.
const LEAVING_ROUND_TRIPS: u32 = 3;
/// What is less than a round trip for anybody.
const LEAVING_AT_LEAST: Duration = Duration::from_millis(100);

/// How far a connection's end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The client has been told to open no more streams, and may have done so before it heard.
    Leaving,
    /// It has been told which streams were the last.
    Closing,
}

/// Where a connection stands.
pub(super) struct Running {
    shared: Rc<Shared>,
    control: Control,
    timer: Timer,
    listener: Weak<TlsListener>,
    phase: Phase,
    /// The first stream that was not taken.
    next: u64,
    /// What the timer was set for.
    waits_as: Option<(Phase, bool)>,
}

/// What a connection is woken by.
enum Event {
    Opened(SendStream, RecvStream),
    OpenedOneWay(RecvStream),
    /// The timer's, or that of a proxy that drains.
    Time,
    /// Something may have changed that is looked at anyway.
    Look,
    Ended,
}

impl Running {
    pub(super) fn new(
        shared: Rc<Shared>,
        control: Control,
        timer: Timer,
        listener: &Arc<TlsListener>,
    ) -> Running {
        let listener = Arc::downgrade(listener);
        Running { shared, control, timer, listener, phase: Phase::Open, next: 0, waits_as: None }
    }

    pub(super) async fn serve(&mut self) {
        loop {
            let shared = Rc::clone(&self.shared);
            let mut refreshed = pin!(shared.worker.refreshed.notified());
            refreshed.as_mut().enable();
            if self.phase == Phase::Open && self.has_to_leave() {
                self.leave();
            }
            self.bound();
            self.set_timer();
            let event = tokio::select! {
                biased;
                sent = self.control.send() => sent.map_or(Event::Ended, |()| Event::Look),
                () = time(&self.timer, &shared.worker, self.phase) => Event::Time,
                () = refreshed => Event::Look,
                () = shared.changed.notified() => Event::Look,
                stream = shared.quic.accept_uni() => stream.map_or(Event::Ended, Event::OpenedOneWay),
                streams = shared.quic.accept_bi() => {
                    streams.map_or(Event::Ended, |(send, receive)| Event::Opened(send, receive))
                }
            };
            match event {
                Event::Opened(send, receive) => self.start(send, receive),
                Event::OpenedOneWay(stream) => {
                    tokio::task::spawn_local(control::receive(Rc::clone(&shared), stream));
                }
                Event::Time if self.expired() => return,
                Event::Time | Event::Look => {}
                Event::Ended => return,
            }
            if self.phase == Phase::Closing && self.shared.streams.get() == 0 && self.control.is_sent() {
                return;
            }
        }
    }

    /// Whether the client has to go: everything ends, it would get in no more, or not as it did.
    fn has_to_leave(&self) -> bool {
        let Shared { worker, address, client, .. } = &*self.shared;
        if worker.draining() || client.borrow().is_leaving() {
            return true;
        }
        let (config, client) = (worker.config(), client.borrow());
        let id = client.tls_listener.as_ref().map(|listener| &listener.id);
        let served = config.port(address).zip(id).and_then(|(served, id)| served.tls.listener(id));
        served.is_none_or(|tls| !std::ptr::eq(Arc::as_ptr(tls), self.listener.as_ptr()))
    }

    /// Has the client open no more streams; those that are open go on.
    fn leave(&mut self) {
        self.phase = Phase::Leaving;
        self.control.goaway(NO_STREAM);
    }

    /// Takes no more streams from now on. Those that come are refused, so that a client may try them elsewhere.
    fn close(&mut self) {
        self.phase = Phase::Closing;
        self.control.goaway(self.next);
    }

    fn bound(&self) {
        if self.shared.resets.borrow().exceeded() && self.shared.quic.close_reason().is_none() {
            self.shared.worker.metrics.refused(Reason::StreamResets);
            self.shared.quic.close(Code::ExcessiveLoad.into(), b"");
        }
    }

    fn start(&mut self, mut send: SendStream, mut receive: RecvStream) {
        if self.phase == Phase::Closing {
            // It fails where the client has reset the stream, which is the same.
            let _ = (receive.stop(Code::RequestRejected.into()), send.reset(Code::RequestRejected.into()));
            return;
        }
        self.next = u64::from(send.id()).saturating_add(4); // RFC 9000 §2.1: a client's streams of both directions
        stream::start(&self.shared, send, receive);
    }

    fn set_timer(&mut self) {
        let idle = self.shared.streams.get() == 0;
        if self.waits_as.replace((self.phase, idle)) == Some((self.phase, idle)) {
            return;
        }
        let limits = &self.shared.worker.shared.options.limits;
        let timeout = match self.phase {
            Phase::Open if idle => limits.idle_timeout,
            Phase::Open => Duration::ZERO,
            Phase::Leaving => (self.shared.quic.rtt() * LEAVING_ROUND_TRIPS).max(LEAVING_AT_LEAST),
            Phase::Closing if idle => limits.drain_idle_timeout,
            Phase::Closing => Duration::ZERO,
        };
        // Never cleared: the wheel is where draining finds those that it has to wake.
        self.timer.set(if timeout.is_zero() { LONG } else { timeout });
    }

    /// What follows when the time is over; true if the connection ends.
    fn expired(&mut self) -> bool {
        match self.phase {
            Phase::Open => self.leave(),
            Phase::Leaving => self.close(),
            Phase::Closing => return true,
        }
        false
    }
}

/// Ready when the timer has expired, or the proxy drains and the connection does not know it.
async fn time(timer: &Timer, worker: &Worker, phase: Phase) {
    poll_fn(|cx| match phase {
        Phase::Open if worker.draining() => Poll::Ready(()),
        _ => timer.poll_expired(cx),
    })
    .await;
}
