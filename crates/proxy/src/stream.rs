//! A client's connection, in clear or over TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Writing to what wraps a stream, and concerns itself with reading alone.
macro_rules! writes_pass {
    ($wrapper:ident) => {
        impl<S: AsyncWrite + Unpin> AsyncWrite for $wrapper<S> {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                self.stream.is_write_vectored()
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.get_mut().stream).poll_flush(cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
            }
        }
    };
}
pub(crate) use writes_pass;

/// A connection of which some bytes have been read ahead, to tell what it speaks.
pub(crate) struct Prefixed<S> {
    prefix: Vec<u8>,
    stream: S,
}

/// A connection in clear.
pub(crate) type Clear = Prefixed<TcpStream>;
/// A connection over TLS.
pub(crate) type Tls = tokio_rustls::server::TlsStream<Clear>;

/// A client's connection.
pub(crate) enum Stream {
    Clear(TcpStream),
    Tls(Box<Tls>),
}

impl Stream {
    /// Lets the connection end with a reset once this is dropped.
    pub(crate) fn reset(&self) {
        // If it fails the connection is closed all the same.
        let _ = socket2::SockRef::from(self.socket()).set_linger(Some(Duration::ZERO));
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Clear(stream) => stream,
            Stream::Tls(stream) => &stream.get_ref().0.stream,
        }
    }

    /// Whether the connection has broken. The kernel knows that before what came earlier has been read.
    pub(crate) fn is_broken(&self) -> bool {
        !matches!(self.socket().take_error(), Ok(None))
    }
}

impl<S> Prefixed<S> {
    pub(crate) fn new(prefix: Vec<u8>, stream: S) -> Prefixed<S> {
        Prefixed { prefix, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.prefix.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, buf);
        }
        let taken = this.prefix.len().min(buf.remaining());
        buf.put_slice(this.prefix.get(..taken).unwrap_or_default());
        this.prefix.drain(..taken);
        if this.prefix.is_empty() {
            this.prefix = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

writes_pass!(Prefixed);

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Clear(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Clear(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Clear(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Clear(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Clear(_) => Poll::Ready(Ok(())),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Clear(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
