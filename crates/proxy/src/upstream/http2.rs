//! Connections to endpoints over which many requests go at the same time, by the `h2` crate.

mod driver;
mod opening;
mod tunnel;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason as Code, SendStream};
use http::Request;

pub(super) use self::opening::{Opener, Opening, Turn};
pub(crate) use self::tunnel::UpstreamTunnel;
use super::connect;
use super::connection::UpstreamStream;
use crate::error::{ProxyError, Replay, Stage};
use crate::limits::Limits;
use crate::reason::Reason;
use crate::timer::Timer;

/// Memory of a stream for a request's bytes that wait for the endpoint, in bytes.
const SEND_BUFFER: usize = 64 * 1024;

/// What a worker wants of its connections of HTTP/2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    streams: usize,
    window: u32,
    connection_window: u32,
    head: u32,
    pub(super) idle_timeout: Duration,
    ping: Duration,
    ping_timeout: Duration,
}

/// An endpoint's connections, the oldest first.
#[derive(Default)]
pub(super) struct Links {
    links: RefCell<Vec<Rc<Link>>>,
    opening: opening::Slot,
}

/// A connection.
pub(crate) struct Link {
    send: SendRequest<Bytes>,
    limit: usize,
    streams: Cell<usize>,
    broken: Cell<bool>,
    /// It has served a request before, so the endpoint may be closing it just now.
    used: Cell<bool>,
    /// The endpoint's settings have come, as they do before all else.
    settled: Cell<bool>,
    /// When something came from the endpoint, or a stream ended.
    heard: Cell<Instant>,
}

/// A place for one request on a connection.
pub(crate) struct Place {
    link: Rc<Link>,
    /// The connection has served a request before.
    pub(crate) reused: bool,
}

/// What an endpoint's connections have for a stream that is to become a tunnel.
pub(super) enum ForTunnel {
    Place(Place),
    /// The endpoint takes none.
    Refused,
    /// A connection more will tell.
    Unknown,
}

impl Settings {
    pub(super) fn new(limits: &Limits) -> Settings {
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX >> 1);
        Settings {
            streams: limits.upstream_h2_streams,
            window: size(limits.upstream_h2_window_bytes.0),
            connection_window: size(limits.upstream_h2_connection_window_bytes.0),
            // `h2` counts 32 bytes more for each field (RFC 9113 §10.5.1) than our limit does, which is looked at after it.
            head: size(limits.upstream_head_bytes.0.saturating_mul(2)),
            idle_timeout: limits.upstream_h2_idle_timeout,
            ping: limits.upstream_h2_ping,
            ping_timeout: limits.upstream_h2_ping_timeout,
        }
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_max_send_streams(self.streams)
            .max_header_list_size(self.head)
            .initial_window_size(self.window)
            .initial_connection_window_size(self.connection_window)
            .max_send_buffer_size(SEND_BUFFER);
        builder
    }
}

impl Links {
    /// A place on a connection that is open, the oldest one first, so that later ones may come to an end.
    pub(super) fn place(&self) -> Option<Place> {
        let mut links = self.links.borrow_mut();
        links.retain(|link| link.is_open());
        links.iter().find(|link| link.has_room()).map(Link::place)
    }

    /// A place for a stream that is to become a tunnel. An endpoint says whether it takes such streams (RFC 8441 §3).
    pub(super) fn tunnel(&self) -> ForTunnel {
        let mut links = self.links.borrow_mut();
        links.retain(|link| link.is_open());
        let takes = links.iter().find(|link| link.takes_tunnels() && link.has_room());
        match takes {
            Some(link) => ForTunnel::Place(link.place()),
            None if links.iter().any(|link| link.settled.get() && !link.takes_tunnels()) => {
                ForTunnel::Refused
            }
            None => ForTunnel::Unknown,
        }
    }

    /// Who opens the next connection: one request does, and the others wait for it.
    pub(super) fn turn(&self) -> Turn<'_> {
        Opening::turn(&self.opening)
    }

    /// Takes a new connection up, with a place on it. `settled` waits until the endpoint's settings are known, which
    /// takes a round trip that nothing else needs.
    pub(super) async fn establish(
        &self,
        stream: UpstreamStream,
        settings: &Settings,
        timer: Timer,
        settled: bool,
    ) -> Result<Place, ProxyError> {
        let handshake = settings.builder().handshake(stream).await;
        let (send, mut connection) = handshake.map_err(|_| connect::failed(Reason::ConnectFailed))?;
        let mut pings = connection.ping_pong();
        if let Some(pings) = pings.as_mut().filter(|_| settled) {
            driver::settle(&mut connection, pings).await?;
        }
        let link = Rc::new(Link {
            send,
            limit: settings.streams,
            streams: Cell::new(0),
            broken: Cell::new(false),
            used: Cell::new(false),
            settled: Cell::new(settled),
            heard: Cell::new(Instant::now()),
        });
        tokio::task::spawn_local(driver::drive(connection, pings, Rc::downgrade(&link), *settings, timer));
        let place = link.place();
        self.links.borrow_mut().push(link);
        Ok(place)
    }

    /// Closes connections that waited too long for a request.
    pub(super) fn sweep(&self, idle_timeout: Duration) {
        self.links.borrow_mut().retain(|link| link.is_open() && !link.is_idle_for(idle_timeout));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.borrow().is_empty()
    }
}

impl Link {
    /// Whether it takes requests: it neither ended, nor has the endpoint said that it will.
    fn is_open(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        !self.broken.get() && !matches!(self.send.clone().poll_ready(&mut cx), Poll::Ready(Err(_)))
    }

    fn has_room(&self) -> bool {
        self.streams.get() < self.limit.min(self.send.current_max_send_streams())
    }

    fn takes_tunnels(&self) -> bool {
        self.send.is_extended_connect_protocol_enabled()
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        self.streams.get() == 0 && self.heard.get().elapsed() >= time
    }

    /// For how long the endpoint, which owes answers, has said nothing.
    fn silent(&self) -> Option<Duration> {
        (self.streams.get() > 0).then(|| self.heard.get().elapsed())
    }

    fn place(self: &Rc<Link>) -> Place {
        self.streams.set(self.streams.get() + 1);
        Place { link: Rc::clone(self), reused: self.used.replace(true) }
    }
}

impl Place {
    /// Sends a request's head.
    pub(crate) fn send(
        &self,
        request: Request<()>,
        ended: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), ProxyError> {
        let sent = self.link.send.clone().send_request(request, ended);
        sent.map_err(|error| {
            // A fault of the request itself, which another connection would not take either, or of this connection.
            let replay =
                if error.is_io() || error.is_go_away() { Replay::NothingSent } else { Replay::Never };
            ProxyError::upstream(Stage::SendRequest, replay, Reason::UpstreamReset)
        })
    }

    /// Something came from the endpoint.
    pub(crate) fn heard(&self) {
        self.link.settled.set(true);
        self.link.heard.set(Instant::now());
    }

    /// Whether the endpoint takes streams that become tunnels, as far as is known.
    pub(super) fn takes_tunnels(&self) -> bool {
        self.link.takes_tunnels()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.link.streams.set(self.link.streams.get().saturating_sub(1));
        self.link.heard.set(Instant::now());
    }
}

/// What a stream's error means for its request. `answered` says that something of an answer has come, `reused` that
/// the connection served another request before.
pub(crate) fn failed(error: &h2::Error, stage: Stage, answered: bool, reused: bool) -> ProxyError {
    // RFC 9113 §8.7: a stream that was refused, or lies beyond a GOAWAY's last one, was not processed; `h2` gives the
    // endpoint's GOAWAY as the error of such streams alone.
    let refused = error.is_reset() && error.reason() == Some(Code::REFUSED_STREAM);
    if error.is_remote() && !answered && (refused || error.is_go_away()) {
        let code = refused.then_some(Code::REFUSED_STREAM);
        return ProxyError {
            code,
            ..ProxyError::upstream(stage, Replay::Unprocessed, Reason::UpstreamRefused)
        };
    }
    let closed = error.is_io() && reused && !answered;
    let replay = if closed { Replay::ReusedClosed } else { Replay::Never };
    let reason = match error.is_io() || error.is_remote() {
        true => Reason::UpstreamReset,
        false => Reason::UpstreamProtocol,
    };
    let code = error.reason().filter(|_| error.is_reset() && error.is_remote());
    ProxyError { code, ..ProxyError::upstream(stage, replay, reason) }
}
