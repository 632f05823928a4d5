//! Tunnels: what two connections say to each other is passed on as it is, until both sides have ended.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::buffers::{BULK, InBuf};
use crate::telemetry::WorkerMetrics;
use crate::timer::Timer;

/// Bytes that went from the client and to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// How a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Both sides said that nothing follows.
    Closed,
    /// The client's connection broke.
    ClientBroke,
    /// The endpoint's connection broke.
    EndpointBroke,
    /// Neither side said anything for too long.
    Idle,
}

/// One direction of a tunnel.
struct Pipe {
    buffer: InBuf,
    /// The source has ended.
    ended: bool,
    shut: bool,
    moved: u64,
}

/// Which end of a pipe broke.
enum Broken {
    Source,
    Sink,
}

impl Pipe {
    fn new(buffer: InBuf) -> Pipe {
        Pipe { buffer, ended: false, shut: false, moved: 0 }
    }

    /// Ready once the source has ended and the sink was told. Each side ends by itself: half of a tunnel may go on.
    fn poll<R, W>(&mut self, cx: &mut Context<'_>, from: &mut R, to: &mut W) -> Poll<Result<(), Broken>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let sink = |result: io::Result<usize>| result.map_err(|_| Broken::Sink);
        while !self.shut {
            while !self.buffer.is_empty() {
                match sink(ready!(Pin::new(&mut *to).poll_write(cx, self.buffer.filled())))? {
                    0 => return Poll::Ready(Err(Broken::Sink)),
                    written => {
                        self.moved += written as u64;
                        self.buffer.consume(written);
                    }
                }
            }
            if self.ended {
                ready!(Pin::new(&mut *to).poll_shutdown(cx)).map_err(|_| Broken::Sink)?;
                self.shut = true;
                break;
            }
            match self.buffer.poll_fill(cx, from, BULK) {
                Poll::Ready(Ok(0)) => self.ended = true,
                // Over TLS, the connection's end without a word of it: many clients end so.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => self.ended = true,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Broken::Source)),
                Poll::Ready(Ok(_)) => self.buffer.adapt(),
                Poll::Pending => {
                    ready!(Pin::new(&mut *to).poll_flush(cx)).map_err(|_| Broken::Sink)?;
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Serves an upgraded exchange to its end, and counts it; gives the bytes that came from the client and went to it.
pub(crate) async fn upgraded<C, E>(
    metrics: &WorkerMetrics,
    client: &mut C,
    from_client: InBuf,
    endpoint: &mut E,
    from_endpoint: InBuf,
) -> (u64, u64)
where
    C: AsyncRead + AsyncWrite + Unpin,
    E: AsyncRead + AsyncWrite + Unpin,
{
    metrics.tunnels.add(1);
    let (moved, _) = run(client, from_client, endpoint, from_endpoint, None).await;
    metrics.bytes_received.add(moved.received);
    metrics.bytes_sent.add(moved.sent);
    (moved.received, moved.sent)
}

/// Passes bytes both ways to the end. With `idle`, silence of both sides for that long ends it; without, a tunnel is
/// silent for as long as its users like.
pub(crate) async fn run<C, E>(
    client: &mut C,
    from_client: InBuf,
    endpoint: &mut E,
    from_endpoint: InBuf,
    idle: Option<(&Timer, Duration)>,
) -> (Moved, End)
where
    C: AsyncRead + AsyncWrite + Unpin,
    E: AsyncRead + AsyncWrite + Unpin,
{
    let (mut up, mut down) = (Pipe::new(from_client), Pipe::new(from_endpoint));
    let mut seen = None;
    let end = poll_fn(|cx| {
        let upward = up.poll(cx, client, endpoint);
        let downward = down.poll(cx, endpoint, client);
        // An error in one direction ends both: a broken connection cannot be half of anything.
        let ended = match (upward, downward) {
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => End::Closed,
            (Poll::Ready(Err(Broken::Source)), _) | (_, Poll::Ready(Err(Broken::Sink))) => End::ClientBroke,
            (Poll::Ready(Err(Broken::Sink)), _) | (_, Poll::Ready(Err(Broken::Source))) => End::EndpointBroke,
            _ => {
                let Some((timer, after)) = idle else { return Poll::Pending };
                let moved = Some((up.moved, down.moved, up.ended, down.ended));
                if seen != moved {
                    seen = moved;
                    timer.set(after);
                }
                return timer.poll_expired(cx).map(|()| End::Idle);
            }
        };
        Poll::Ready(ended)
    })
    .await;
    (Moved { received: up.moved, sent: down.moved }, end)
}
