//! The task of a connection: it moves the frames of all streams, and finds out when the endpoint has died silently.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::Connection;
use h2::{Ping, PingPong};

use super::{Link, Settings};
use crate::timer::Timer;
use crate::upstream::connection::UpstreamStream;

/// Serves a connection until it ends, or nobody holds it and its last stream has ended.
pub(super) async fn drive(
    mut connection: Connection<UpstreamStream, Bytes>,
    link: Weak<Link>,
    settings: Settings,
    timer: Timer,
) {
    let mut pulse = connection.ping_pong().map(|pings| Pulse { pings, settings, timer, asked: false });
    if let Some(pulse) = &pulse {
        pulse.timer.set(settings.ping);
    }
    poll_fn(|cx| {
        if Pin::new(&mut connection).poll(cx).is_ready() {
            return Poll::Ready(());
        }
        pulse.as_mut().map_or(Poll::Pending, |pulse| pulse.poll(cx, &link))
    })
    .await;
    if let Some(link) = link.upgrade() {
        link.broken.set(true);
    }
}

/// Whether the endpoint is alive, asked when streams are open and nothing comes.
struct Pulse {
    pings: PingPong,
    settings: Settings,
    timer: Timer,
    /// It was asked, and has not answered.
    asked: bool,
}

impl Pulse {
    /// Ready when the endpoint is dead.
    fn poll(&mut self, cx: &mut Context<'_>, link: &Weak<Link>) -> Poll<()> {
        loop {
            if self.asked && matches!(self.pings.poll_pong(cx), Poll::Ready(Ok(_))) {
                self.asked = false;
                self.timer.set(self.settings.ping);
            }
            ready!(self.timer.poll_expired(cx));
            if self.asked {
                return Poll::Ready(());
            }
            let link = link.upgrade().filter(|link| link.streams.get() > 0);
            let silent = link.map(|link| link.heard.get().elapsed()).unwrap_or_default();
            if silent < self.settings.ping {
                self.timer.set(self.settings.ping.saturating_sub(silent));
            } else if self.pings.send_ping(Ping::opaque()).is_ok() {
                self.asked = true;
                self.timer.set(self.settings.ping_timeout);
            } else {
                return Poll::Ready(()); // the connection has ended
            }
        }
    }
}
