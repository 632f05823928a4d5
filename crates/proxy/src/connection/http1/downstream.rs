//! The client's side of an exchange over HTTP/1.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use portcullis_http1::{
    BodyDecoder, ChunkLimits, ConnectionField, Fields, Framing, HeadLimits, Method, Piece, RequestHead,
    ResponseHead, Version, write_chunk, write_last_chunk, write_response,
};

use super::gone;
use crate::buffers::{InBuf, OutBuf, READ};
use crate::connection::Connection;
use crate::error::{ProxyError, Stage};
use crate::exchange::{Downstream, Outgoing, has_body};
use crate::reason::Reason;
use crate::stream::Stream;
use crate::tls::Admission;
use crate::worker::Worker;

/// How much of an answer waits for the client before no more is read from the endpoint, in bytes.
const HIGH_WATER: usize = 64 * 1024;

/// A connection and where its exchange stands.
pub(super) struct Http1 {
    worker: Rc<Worker>,
    admission: Option<Rc<Admission>>,
    stream: Stream,
    pub(super) input: InBuf,
    out: OutBuf,
    decoder: BodyDecoder,
    version: Version,
    method: Method,
    /// The client has said that it sends nothing more; it may still read.
    half_closed: bool,
    /// The connection ends with this exchange.
    closes: bool,
    /// How the answer is framed, once it has begun.
    answer: Option<Framing>,
    ended: bool,
    moved: u64,
}

impl Http1 {
    pub(super) fn new(connection: &Connection, stream: Stream, input: InBuf) -> Http1 {
        let limits = &connection.worker.shared.options.limits;
        let trailers = HeadLimits { block: limits.head_bytes.0, fields: limits.head_fields };
        Http1 {
            worker: Rc::clone(&connection.worker),
            admission: connection.client.admission.clone(),
            stream,
            input,
            out: OutBuf::new(&connection.worker.buffers),
            decoder: BodyDecoder::new(ChunkLimits { trailers, ..ChunkLimits::default() }),
            version: Version::Http11,
            method: Method::Get,
            half_closed: false,
            closes: false,
            answer: None,
            ended: false,
            moved: 0,
        }
    }

    /// Begins an exchange.
    pub(super) fn start(&mut self, head: &RequestHead) {
        self.decoder.start(head.framing());
        (self.version, self.method) = (head.version(), head.method());
        self.closes = !head.keep_alive();
        (self.answer, self.ended) = (None, false);
    }

    /// The connection is to end with this exchange.
    pub(super) fn close(&mut self) {
        self.closes = true;
    }

    /// Whether another request may follow.
    pub(super) fn persists(&self) -> bool {
        self.ended && !self.closes
    }

    /// Whether an answer was sent whole.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    pub(super) fn into_parts(self) -> (Stream, InBuf) {
        (self.stream, self.input)
    }

    /// Ends the connection so that the client knows its answer to be cut off, even one that ends with the
    /// connection.
    pub(super) fn cut(self) {
        if let Stream::Clear(stream) = &self.stream {
            // If it fails the connection is closed all the same.
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<io::Result<usize>> {
        let filled = self.input.poll_fill(cx, &mut self.stream, limit);
        if let Poll::Ready(Ok(read)) = filled {
            self.moved += read as u64;
            self.half_closed |= read == 0;
        }
        filled
    }

    /// How the answer is framed for this client (RFC 9112 §6.3): HTTP/1.0 knows no chunks.
    fn framing_for_client(&self, body: Framing, status: u16) -> Framing {
        match (body, self.version) {
            (Framing::Tunnel, _) => Framing::Tunnel,
            _ if !has_body(self.method, status) => Framing::None,
            (Framing::UntilClose, Version::Http11) => Framing::Chunked,
            (Framing::Chunked, Version::Http10) => Framing::UntilClose,
            (framing, _) => framing,
        }
    }

    fn connection_field(&self, framing: Framing) -> ConnectionField {
        match (framing, self.closes, self.version) {
            (Framing::Tunnel, ..) => ConnectionField::Upgrade,
            (_, true, _) => ConnectionField::Close,
            (_, false, Version::Http10) => ConnectionField::KeepAlive,
            (_, false, _) => ConnectionField::Absent,
        }
    }
}

impl Downstream for Http1 {
    fn poll_body(&mut self, cx: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>> {
        let bad = ProxyError::downstream(Stage::ReceiveBody, Reason::BadRequest);
        loop {
            let (used, piece) = self.decoder.decode(self.input.filled()).map_err(|_| bad)?;
            match piece {
                Piece::Data(data) => {
                    into.data(data)?;
                    self.input.consume(used);
                    if self.decoder.is_ended() {
                        into.end(self.decoder.trailers()); // its end leaves with its last bytes
                    }
                    return Poll::Ready(Ok(()));
                }
                Piece::End => {
                    into.end(self.decoder.trailers());
                    self.input.consume(used);
                    return Poll::Ready(Ok(()));
                }
                Piece::More => self.input.consume(used),
            }
            match self.poll_fill(cx, READ) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => return Poll::Ready(Err(gone(Stage::ReceiveBody))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// A client that only ends its side still wants the answer; one that has gone resets the connection.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError> {
        while !self.half_closed && self.input.filled().len() < READ {
            match self.poll_fill(cx, READ) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(gone(Stage::RelayAnswer)),
                Poll::Pending => break,
            }
        }
        if self.is_deaf() && self.stream.is_broken() {
            return Poll::Ready(gone(Stage::RelayAnswer));
        }
        Poll::Pending
    }

    fn is_deaf(&self) -> bool {
        self.half_closed || self.input.filled().len() >= READ
    }

    fn interim(&mut self, head: &ResponseHead) {
        if self.version == Version::Http11 {
            write_response(self.out.tail(), head, Framing::None, ConnectionField::Absent, b"");
        }
    }

    fn begin(&mut self, head: &ResponseHead, body: Framing, request_ended: bool) -> Result<(), ProxyError> {
        let framing = self.framing_for_client(body, head.status());
        // What is left of a body would be taken for the next request.
        self.closes |= self.worker.draining()
            || self.admission.as_ref().is_some_and(|admission| admission.is_leaving())
            || framing == Framing::UntilClose
            || !(request_ended && self.decoder.is_ended());
        let field = self.connection_field(framing);
        write_response(self.out.tail(), head, framing, field, b"");
        self.answer = Some(framing);
        Ok(())
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ProxyError>> {
        if self.out.pending() >= HIGH_WATER {
            std::task::ready!(self.poll_flush(cx))?;
        }
        Poll::Ready(Ok(READ))
    }

    fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        match self.answer {
            Some(Framing::Chunked) => write_chunk(self.out.tail(), data),
            Some(Framing::Length(_) | Framing::UntilClose) => self.out.tail().extend_from_slice(data),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, trailers: Option<&Fields>) -> Result<(), ProxyError> {
        if self.answer == Some(Framing::Chunked) {
            let none = Fields::new();
            write_last_chunk(self.out.tail(), trailers.unwrap_or(&none));
        }
        self.ended = true;
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        let before = self.out.pending();
        if before == 0 {
            return Poll::Ready(Ok(()));
        }
        let written = self.out.poll_write(cx, &mut self.stream);
        self.moved += (before - self.out.pending()) as u64;
        std::task::ready!(written).map_err(|_| gone(Stage::RelayAnswer))?;
        let flushed = tokio::io::AsyncWrite::poll_flush(std::pin::Pin::new(&mut self.stream), cx);
        std::task::ready!(flushed).map_err(|_| gone(Stage::RelayAnswer))?;
        self.out.release();
        Poll::Ready(Ok(()))
    }

    fn begun(&self) -> bool {
        self.answer.is_some()
    }

    fn progress(&self) -> u64 {
        self.moved
    }
}
