//! Closing without losing what was said last.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::stream::Stream;
use crate::timer::{Timer, within};

/// How long a client may take to read an answer after which we close, while it still sends.
const LINGER: Duration = Duration::from_secs(1);

/// Says that nothing follows, and lets the client finish: closing a socket with unread bytes resets the connection,
/// and a reset destroys the answer on its way (RFC 9112 §9.6).
pub(super) async fn close(mut stream: Stream, timer: &Timer) {
    timer.set(LINGER);
    let stream = &mut stream;
    let shut = within(timer, poll_fn(|cx| Pin::new(&mut *stream).poll_shutdown(cx))).await;
    if !matches!(shut, Some(Ok(()))) {
        return;
    }
    let mut waste = [0u8; 4096];
    let drained = poll_fn(|cx| {
        loop {
            let mut buffer = ReadBuf::new(&mut waste);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                std::task::Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                std::task::Poll::Ready(_) => return std::task::Poll::Ready(()),
                std::task::Poll::Pending => return std::task::Poll::Pending,
            }
        }
    });
    within(timer, drained).await;
}
