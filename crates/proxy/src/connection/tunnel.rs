//! Tunnels: what an upgraded connection says is passed on as it is, until both sides have ended.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::buffers::{InBuf, READ};
use crate::stream::Stream;
use crate::upstream::UpstreamStream;

/// One direction of a tunnel.
struct Pipe {
    buffer: InBuf,
    /// The source has ended.
    ended: bool,
    shut: bool,
    moved: u64,
}

impl Pipe {
    /// Ready once the source has ended and the sink was told. Each side ends by itself: half of a tunnel may go on.
    fn poll<R, W>(&mut self, cx: &mut Context<'_>, from: &mut R, to: &mut W) -> Poll<io::Result<()>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        while !self.shut {
            while !self.buffer.is_empty() {
                let written = ready!(Pin::new(&mut *to).poll_write(cx, self.buffer.filled()))?;
                self.moved += written as u64;
                self.buffer.consume(written);
            }
            if self.ended {
                ready!(Pin::new(&mut *to).poll_shutdown(cx))?;
                self.shut = true;
                break;
            }
            match self.buffer.poll_fill(cx, from, READ)? {
                Poll::Ready(0) => self.ended = true,
                Poll::Ready(_) => {}
                Poll::Pending => {
                    ready!(Pin::new(&mut *to).poll_flush(cx))?;
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Passes bytes both ways to the end; gives how many came from the client and how many went to it. No timeout
/// applies: a tunnel is silent for as long as its users like.
pub(super) async fn run(
    mut client: Stream,
    from_client: InBuf,
    mut endpoint: UpstreamStream,
    from_endpoint: InBuf,
) -> (u64, u64) {
    let pipe = |buffer| Pipe { buffer, ended: false, shut: false, moved: 0 };
    let (mut up, mut down) = (pipe(from_client), pipe(from_endpoint));
    // An error in one direction ends both: a broken connection cannot be half of anything.
    let _ = poll_fn(|cx| {
        let up = up.poll(cx, &mut client, &mut endpoint)?;
        let down = down.poll(cx, &mut endpoint, &mut client)?;
        if up.is_ready() && down.is_ready() { Poll::Ready(io::Result::Ok(())) } else { Poll::Pending }
    })
    .await;
    (up.moved, down.moved)
}
