//! A stream that has become a tunnel (RFC 8441).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h2::{Reason as Code, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::buffers::READ;

/// Both directions of a stream, as bytes.
pub(crate) struct Tunneled {
    receive: RecvStream,
    send: SendStream<Bytes>,
    /// What came and was not read.
    held: Bytes,
}

impl Tunneled {
    /// `held` came already.
    pub(crate) fn new(receive: RecvStream, send: SendStream<Bytes>, held: Bytes) -> Tunneled {
        Tunneled { receive, send, held }
    }

    /// Ends both directions at once, so that the other side knows them to be cut off.
    pub(crate) fn reset(&mut self) {
        self.send.send_reset(Code::CANCEL);
    }
}

fn broken() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl AsyncRead for Tunneled {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.held.is_empty() {
            match ready!(this.receive.poll_data(cx)) {
                Some(data) => this.held = data.map_err(|_| broken())?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let taken = this.held.len().min(buf.remaining());
        buf.put_slice(this.held.get(..taken).unwrap_or_default());
        this.held.advance(taken);
        // It fails only for more than was received.
        let _ = this.receive.flow_control().release_capacity(taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunneled {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let send = &mut self.get_mut().send;
        let wanted = buf.len().min(READ);
        send.reserve_capacity(wanted);
        while send.capacity() == 0 && wanted > 0 {
            let Some(Ok(_)) = ready!(send.poll_capacity(cx)) else { return Poll::Ready(Err(broken())) };
        }
        let taken = wanted.min(send.capacity());
        let data = Bytes::copy_from_slice(buf.get(..taken).unwrap_or_default());
        send.send_data(data, false).map_err(|_| broken())?;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Who resets its stream reads nothing more, which nothing else here would tell.
        match self.get_mut().send.poll_reset(cx) {
            Poll::Ready(_) => Poll::Ready(Err(broken())),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().send.send_data(Bytes::new(), true).map_err(|_| broken()))
    }
}
