//! A connection to an endpoint.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::http2::UpstreamTunnel;
use super::socket::Socket;
use super::tls::{self, TlsStream};

/// A connection in use.
pub(crate) struct Upstream {
    pub(crate) stream: UpstreamStream,
    /// It has served a request before, so the endpoint may be closing it just now.
    pub(crate) reused: bool,
}

/// A connection, in clear or over TLS; or what stands for one.
#[derive(Debug)]
pub(crate) enum UpstreamStream {
    Clear(Socket),
    Tls(Box<TlsStream>),
    /// A stream of HTTP/2 that has become a tunnel. It is never pooled.
    Tunnel(Box<UpstreamTunnel>),
}

impl UpstreamStream {
    /// Whether the endpoint has neither closed the connection nor sent anything, as far as the reactor has heard:
    /// no system call. Over TLS nothing can be told so: what has come may be no more than a ticket.
    pub(crate) fn seems_idle(&self) -> bool {
        match self {
            UpstreamStream::Clear(socket) => socket.seems_idle(),
            UpstreamStream::Tls(_) | UpstreamStream::Tunnel(_) => true,
        }
    }

    /// [`seems_idle`](UpstreamStream::seems_idle), asked of the kernel.
    pub(crate) fn is_idle(&mut self) -> bool {
        match self {
            UpstreamStream::Clear(socket) => {
                let received = socket.recv(&mut [0u8; 1], RecvFlags::PEEK);
                matches!(received, Err(rustix::io::Errno::AGAIN))
            }
            UpstreamStream::Tls(stream) => tls::is_idle(stream),
            UpstreamStream::Tunnel(_) => false,
        }
    }

    /// Closes the connection with a reset, as far as its kind has one.
    pub(crate) fn reset(mut self) {
        match &mut self {
            UpstreamStream::Clear(socket) => socket.end_with_reset(),
            UpstreamStream::Tls(stream) => stream.get_ref().0.end_with_reset(),
            UpstreamStream::Tunnel(tunnel) => tunnel.stream.reset(),
        }
    }

    /// Whether the endpoint chose HTTP/2 (RFC 7301).
    pub(super) fn chose_http2(&self) -> bool {
        match self {
            UpstreamStream::Clear(_) | UpstreamStream::Tunnel(_) => false,
            UpstreamStream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Whether what is written goes out in records, so that what a failed write has sent cannot be known.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, UpstreamStream::Tls(_))
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamStream::Clear(socket) => Pin::new(socket).poll_read(cx, buf),
            UpstreamStream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            UpstreamStream::Tunnel(tunnel) => Pin::new(&mut tunnel.stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            UpstreamStream::Clear(socket) => Pin::new(socket).poll_write(cx, buf),
            UpstreamStream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
            UpstreamStream::Tunnel(tunnel) => Pin::new(&mut tunnel.stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamStream::Clear(_) => Poll::Ready(Ok(())),
            UpstreamStream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            UpstreamStream::Tunnel(tunnel) => Pin::new(&mut tunnel.stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            UpstreamStream::Clear(socket) => Pin::new(socket).poll_shutdown(cx),
            UpstreamStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            UpstreamStream::Tunnel(tunnel) => Pin::new(&mut tunnel.stream).poll_shutdown(cx),
        }
    }
}
