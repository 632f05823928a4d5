//! Closing without losing what was said last.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWrite;

use super::Connection;
use crate::buffers::{InBuf, READ};
use crate::stream::Stream;
use crate::timer::within;

/// How long a client may take to read an answer after which we close, while it still sends.
const LINGER: Duration = Duration::from_secs(1);

/// Says that nothing follows, and lets the client finish: closing a socket with unread bytes resets the connection,
/// and a reset destroys the answer on its way (RFC 9112 §9.6).
pub(super) async fn close(mut stream: Stream, connection: &Connection) {
    connection.timer.set(LINGER);
    let stream = &mut stream;
    let shut = within(&connection.timer, poll_fn(|cx| Pin::new(&mut *stream).poll_shutdown(cx))).await;
    if !matches!(shut, Some(Ok(()))) {
        return;
    }
    let mut waste = InBuf::new(&connection.worker.buffers);
    let drained = poll_fn(|cx| {
        loop {
            waste.clear();
            match waste.poll_fill(cx, stream, READ) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    within(&connection.timer, drained).await;
}
