//! The task of a connection: it moves the frames of all streams, and finds out when the endpoint has died silently.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Weak;
use std::task::Poll;

use bytes::Bytes;
use h2::client::Connection;
use h2::{Ping, PingPong};

use super::{Link, Settings};
use crate::error::ProxyError;
use crate::http2::Pulse;
use crate::reason::Reason;
use crate::timer::Timer;
use crate::upstream::connect;
use crate::upstream::connection::UpstreamStream;

/// Waits for the endpoint's settings: they come before its answer to a ping.
pub(super) async fn settle(
    connection: &mut Connection<UpstreamStream, Bytes>,
    pings: &mut PingPong,
) -> Result<(), ProxyError> {
    let failed = || connect::failed(Reason::ConnectFailed);
    pings.send_ping(Ping::opaque()).map_err(|_| failed())?;
    poll_fn(|cx| {
        if Pin::new(&mut *connection).poll(cx).is_ready() {
            return Poll::Ready(Err(failed()));
        }
        pings.poll_pong(cx).map(|pong| pong.map(drop).map_err(|_| failed()))
    })
    .await
}

/// Serves a connection until it ends, or nobody holds it and its last stream has ended.
pub(super) async fn drive(
    mut connection: Connection<UpstreamStream, Bytes>,
    pings: Option<PingPong>,
    link: Weak<Link>,
    settings: Settings,
    timer: Timer,
) {
    let mut pulse = Pulse::new(pings, settings.ping, settings.ping_timeout, timer);
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
