//! HTTP/3 from clients: a task for the connection, and one for each request.
//!
//! Read in this order: [`stream`] (a request), [`receive`] (frames as they come), [`section`] (field sections as heads
//! and back, by [`qpack`]), [`downstream`] (the client's side of an exchange), [`control`] (what concerns the connection).

mod control;
mod downstream;
mod frame;
mod judged;
mod load;
mod qpack;
mod receive;
mod section;
mod stream;

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use portcullis_model::BindAddress;
use portcullis_routing::Scheme;
use quinn::{Connecting, Connection, ConnectionError, Incoming, RecvStream, SendStream};
use quinn_proto::{TransportError, TransportErrorCode};
use rustls_pki_types::CertificateDer;
use tokio::sync::Notify;

pub use self::judged::{Http3Part, http3_head, http3_parts, http3_trailers};

use self::control::{Control, NO_STREAM};
use self::frame::Code;
use self::load::Load;
use super::http1::LONG;
use super::resets::Resets;
use crate::exchange::Client;
use crate::quic::Handshake;
use crate::reason::Reason;
use crate::timer::{Timer, within};
use crate::tls::{Admission, Chosen, TlsListener};
use crate::worker::Worker;

/// How many round trips a client that is told to leave has, for the requests that it has sent before it heard.
const LEAVING_ROUND_TRIPS: u32 = 3;
/// What is less than a round trip for anybody.
const LEAVING_AT_LEAST: Duration = Duration::from_millis(100);

/// TLS alerts that are about a client's certificate (RFC 8446 §6.2): from `bad_certificate` to `decrypt_error`, and
/// `certificate_required`.
const CERTIFICATE_ALERTS: [u8; 9] = [42, 43, 44, 45, 46, 48, 49, 51, 116];

/// What the streams of a connection share.
struct Shared {
    worker: Rc<Worker>,
    quic: Connection,
    address: BindAddress,
    /// By the address that the client has now.
    client: RefCell<Rc<Client>>,
    streams: Cell<usize>,
    /// Told when a stream has ended.
    changed: Notify,
    resets: RefCell<Resets>,
    load: Rc<Load>,
    /// The types of streams that a client opens once, as bits.
    opened: Cell<u8>,
}

impl Shared {
    /// Ends the connection for what the client did.
    fn fail(&self, code: Code) {
        if self.quic.close_reason().is_none() {
            let reason = match code {
                Code::ClosedCriticalStream => return self.quic.close(code.into(), b""),
                _ => Reason::Http3Protocol,
            };
            self.worker.metrics.refused(reason);
            self.quic.close(code.into(), b"");
        }
    }

    /// Whether the client opens its first stream of a type.
    fn opens(&self, of: u64) -> bool {
        let (opened, bit) = (self.opened.get(), 1 << of);
        self.opened.set(opened | bit);
        opened & bit == 0
    }

    /// The client, at the address that it has now.
    fn client(&self) -> Rc<Client> {
        let (address, mut client) = (self.quic.remote_address(), self.client.borrow_mut());
        if client.address != address {
            *client = Rc::new(client.at(address, self.worker.shared.options.trusts(address.ip())));
        }
        Rc::clone(&client)
    }
}

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
struct Running {
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

/// Serves a connection to its end. `handshake` is counted while the client's address may not be its own.
pub(crate) async fn serve(
    worker: &Rc<Worker>,
    address: BindAddress,
    incoming: Incoming,
    handshake: Option<Handshake>,
) {
    let timer = worker.timer();
    timer.set(worker.shared.options.limits.head_timeout);
    let established = match incoming.accept() {
        Ok(connecting) => {
            within(&timer, establish(connecting)).await.unwrap_or(Err(Some(Reason::ClientTimeout)))
        }
        Err(error) => Err(refusal(&error)),
    };
    drop(handshake);
    match established {
        Ok((quic, chosen, admission)) => {
            worker.metrics.tls_handshakes.add(1);
            run(worker, address, timer, (quic, chosen, admission)).await;
        }
        Err(reason) => {
            let _ = reason.inspect(|reason| worker.metrics.refused(*reason));
        }
    }
}

type Established = (Connection, Chosen, Option<Rc<Admission>>);

/// A connection after its handshake; no reason where it was refused for one that is counted already.
async fn establish(connecting: Connecting) -> Result<Established, Option<Reason>> {
    let quic = connecting.await.map_err(|error| refusal(&error))?;
    let chosen = quic.handshake_data().and_then(|data| data.downcast::<Chosen>().ok());
    let chosen = *chosen.ok_or(Some(Reason::Internal))?;
    let identity =
        quic.peer_identity().and_then(|chain| chain.downcast::<Vec<CertificateDer<'static>>>().ok());
    let chain = identity.map(|chain| *chain).unwrap_or_default();
    let admission = chosen.tls.admit(&chosen.listener.id, &chain).transpose();
    let admission = admission.inspect_err(|_| quic.close(Code::Internal.into(), b""))?;
    Ok((quic, chosen, admission.map(Rc::new)))
}

/// Why a handshake failed; none where the handshake itself was told.
fn refusal(error: &ConnectionError) -> Option<Reason> {
    let is_about_certificate =
        |code| CERTIFICATE_ALERTS.iter().any(|alert| TransportErrorCode::crypto(*alert) == code);
    match error {
        ConnectionError::TransportError(TransportError { code, .. }) => match *code {
            TransportErrorCode::CONNECTION_REFUSED => None,
            code if is_about_certificate(code) => Some(Reason::ClientCertificate),
            _ => Some(Reason::TlsHandshake),
        },
        ConnectionError::TimedOut => Some(Reason::ClientTimeout),
        _ => Some(Reason::TlsHandshake),
    }
}

async fn run(
    worker: &Rc<Worker>,
    address: BindAddress,
    timer: Timer,
    (quic, chosen, admission): Established,
) {
    let limits = &worker.shared.options.limits;
    let Ok(control) = quic.open_uni().await else { return };
    let peer = quic.remote_address();
    let mut client = Client::new(peer, worker.shared.options.trusts(peer.ip()));
    client.scheme = Scheme::Https;
    client.tls_listener = Some(chosen.listener);
    client.admission = admission.clone();
    let shared = Rc::new(Shared {
        worker: Rc::clone(worker),
        quic,
        address,
        client: RefCell::new(Rc::new(client)),
        streams: Cell::new(0),
        changed: Notify::new(),
        resets: RefCell::new(Resets::new(limits.h3_resets)),
        load: Rc::new(Load::new(limits.h3_control_frames)),
        opened: Cell::new(0),
    });
    let mut running = Running {
        control: Control::new(control, limits),
        shared: Rc::clone(&shared),
        timer,
        listener: Arc::downgrade(&chosen.tls),
        phase: Phase::Open,
        next: 0,
        waits_as: None,
    };
    drop(chosen.tls); // a connection holds a configuration only while it looks at it
    tokio::select! {
        biased; // the connection looks at once at what has been found out
        () = revoked(admission.as_deref(), worker, &address) => {}
        () = running.serve() => {}
    }
    shared.quic.close(Code::NoError.into(), b"");
}

async fn revoked(admission: Option<&Admission>, worker: &Worker, address: &BindAddress) {
    match admission {
        Some(admission) => admission.revoked(worker, address).await,
        None => pending().await,
    }
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
    async fn serve(&mut self) {
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
