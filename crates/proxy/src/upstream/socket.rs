//! The socket under a connection to an endpoint.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A socket that leads to an endpoint.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Whether the endpoint has neither closed the connection nor sent anything, as far as the reactor has heard:
    /// no system call.
    pub(super) fn seems_idle(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        match self {
            Socket::Tcp(stream) => stream.poll_read_ready(&mut cx).is_pending(),
            Socket::Unix(stream) => stream.poll_read_ready(&mut cx).is_pending(),
        }
    }

    /// What the kernel has received, as far as there is room, without waiting; left there with `PEEK`.
    pub(super) fn recv(&self, into: &mut [u8], flags: RecvFlags) -> rustix::io::Result<usize> {
        let flags = flags | RecvFlags::DONTWAIT;
        match self {
            Socket::Tcp(stream) => rustix::net::recv(stream, into, flags).map(|(_, received)| received),
            Socket::Unix(stream) => rustix::net::recv(stream, into, flags).map(|(_, received)| received),
        }
    }

    /// Has the connection end with a reset, as far as its kind has one.
    pub(super) fn end_with_reset(&self) {
        if let Socket::Tcp(stream) = self {
            // If it fails the connection is closed all the same.
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
