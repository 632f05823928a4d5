//! The task of a connection: it moves the frames of all streams, and finds out when the endpoint has died silently.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Weak;
use std::task::Poll;

use bytes::Bytes;
use h2::client::Connection;

use super::{Link, Settings};
use crate::http2::Pulse;
use crate::timer::Timer;
use crate::upstream::connection::UpstreamStream;

/// Serves a connection until it ends, or nobody holds it and its last stream has ended.
pub(super) async fn drive(
    mut connection: Connection<UpstreamStream, Bytes>,
    link: Weak<Link>,
    settings: Settings,
    timer: Timer,
) {
    let mut pulse = Pulse::new(connection.ping_pong(), settings.ping, settings.ping_timeout, timer);
    let silent = || link.upgrade().and_then(|link| link.silent());
    poll_fn(|cx| {
        if Pin::new(&mut connection).poll(cx).is_ready() {
            return Poll::Ready(());
        }
        pulse.as_mut().map_or(Poll::Pending, |pulse| pulse.poll(cx, silent))
    })
    .await;
    if let Some(link) = link.upgrade() {
        link.broken.set(true);
    }
}
