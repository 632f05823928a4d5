//! A connection to an endpoint.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connection in use.
pub(crate) struct Upstream {
    pub(crate) stream: UpstreamStream,
    /// It has served a request before, so the endpoint may be closing it just now.
    pub(crate) reused: bool,
}

/// The socket of a connection.
#[derive(Debug)]
pub(crate) enum UpstreamStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl UpstreamStream {
    /// Whether the endpoint has neither closed the connection nor sent anything, as far as the reactor has heard:
    /// no system call.
    pub(crate) fn seems_idle(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        match self {
            UpstreamStream::Tcp(stream) => stream.poll_read_ready(&mut cx).is_pending(),
            UpstreamStream::Unix(stream) => stream.poll_read_ready(&mut cx).is_pending(),
        }
    }

    /// Closes the connection with a reset, as far as its kind has one.
    pub(crate) fn reset(self) {
        if let UpstreamStream::Tcp(stream) = &self {
            // If it fails the connection is closed all the same.
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    /// [`seems_idle`](UpstreamStream::seems_idle), asked of the kernel.
    pub(crate) fn is_idle(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let mut byte = [0u8; 1];
        let received = match self {
            UpstreamStream::Tcp(stream) => rustix::net::recv(stream, &mut byte, flags),
            UpstreamStream::Unix(stream) => rustix::net::recv(stream, &mut byte, flags),
        };
        matches!(received, Err(rustix::io::Errno::AGAIN))
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamStream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            UpstreamStream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            UpstreamStream::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            UpstreamStream::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamStream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            UpstreamStream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
