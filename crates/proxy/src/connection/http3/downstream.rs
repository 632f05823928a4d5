//! The client's side of an exchange over a stream of HTTP/3.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::Reason as Http2Reason;
use portcullis_http1::{Fields, Framing, Method, RequestHead, ResponseHead};
use quinn::{SendStream, StoppedError, VarInt};

use super::frame::{Code, kind, write_header};
use super::receive::{Broken, Part, Receiving};
use super::section::{self, Refused};
use crate::buffers::READ;
use crate::error::{ProxyError, Stage};
use crate::exchange::{Downstream, Outgoing, has_body};
use crate::limits::Limits;
use crate::reason::Reason;

/// Until the client has asked for no more of the answer, has all of it, or is gone.
type Stopped = Pin<Box<dyn Future<Output = Result<Option<VarInt>, StoppedError>>>>;

/// A stream and where its exchange stands.
pub(super) struct Http3<'l> {
    send: SendStream,
    receiving: Receiving,
    limits: &'l Limits,
    stopped: Stopped,
    /// The client is known to take no more.
    gone: bool,
    /// What waits for room on the stream.
    out: VecDeque<Bytes>,
    begun: bool,
    ended: bool,
    finished: bool,
    method: Method,
    /// What is left of the body that the request said it has.
    owed: Option<u64>,
    /// For what the client broke, the connection has to end.
    broken: Option<Code>,
    moved: u64,
}

fn gone(stage: Stage) -> ProxyError {
    ProxyError::downstream(stage, Reason::ClientClosed)
}

fn malformed(stage: Stage) -> ProxyError {
    ProxyError::downstream(stage, Reason::BadRequest)
}

impl<'l> Http3<'l> {
    pub(super) fn new(
        send: SendStream,
        receiving: Receiving,
        head: &RequestHead,
        limits: &'l Limits,
    ) -> Http3<'l> {
        let owed = match head.framing() {
            Framing::Length(length) => Some(length),
            _ => None,
        };
        Http3 {
            stopped: Box::pin(send.stopped()),
            send,
            receiving,
            limits,
            gone: false,
            out: VecDeque::new(),
            begun: false,
            ended: false,
            finished: false,
            method: head.method(),
            owed,
            broken: None,
            moved: 0,
        }
    }

    /// Answers what is no request.
    pub(super) fn refuse(&mut self, status: u16) {
        self.push_section(Some(status), &Fields::new());
        (self.begun, self.ended) = (true, true);
    }

    /// Whether an answer was sent whole.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// For what the connection has to end, if it has to.
    pub(super) fn broken(&self) -> Option<Code> {
        self.broken
    }

    /// Ends the stream so that the client knows its answer to be cut off, for the reason that the endpoint gave.
    pub(super) fn cut(&mut self, error: &ProxyError) {
        let code = match (error.reason, error.code) {
            (Reason::BadRequest, _) => Code::Message,
            (_, Some(Http2Reason::CANCEL)) => Code::RequestCancelled,
            (_, Some(Http2Reason::REFUSED_STREAM)) => Code::RequestRejected,
            (_, Some(Http2Reason::ENHANCE_YOUR_CALM)) => Code::ExcessiveLoad,
            _ => Code::Internal,
        };
        self.reset(code);
    }

    pub(super) fn reset(&mut self, code: Code) {
        self.receiving.stop(code);
        if !self.ended {
            // A client that has gone needs to be told nothing.
            let _ = self.send.reset(code.into());
            (self.ended, self.finished) = (true, true);
        }
    }

    /// Ready when the client has the whole answer, or wants no more of it; the rest of a request that is answered
    /// already is not waited for (RFC 9114 §4.1).
    pub(super) async fn delivered(&mut self) {
        self.receiving.stop(Code::NoError);
        let written = std::future::poll_fn(|cx| self.poll_flush(cx)).await;
        if written.is_ok() && !self.gone {
            // Either way the stream has ended.
            let _ = self.stopped.as_mut().await;
        }
    }

    fn push_section(&mut self, status: Option<u16>, fields: &Fields) {
        let section = section::write(status, fields);
        let mut frame = Vec::with_capacity(section.len() + 16);
        write_header(&mut frame, kind::HEADERS, section.len());
        frame.extend_from_slice(&section);
        self.out.push_back(frame.into());
    }

    /// Writes what waits; ready when the stream has taken it.
    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        while !self.out.is_empty() {
            let written = ready!(pin!(self.send.write_chunks(self.out.make_contiguous())).poll(cx));
            let written = written.map_err(|_| gone(Stage::RelayAnswer))?;
            self.out.drain(..written.chunks);
        }
        Poll::Ready(Ok(()))
    }

    fn take(&mut self, data: Bytes, into: &mut Outgoing) -> Result<(), ProxyError> {
        let length = data.len() as u64;
        self.moved += length;
        if let Some(owed) = &mut self.owed {
            *owed = owed.checked_sub(length).ok_or(malformed(Stage::ReceiveBody))?;
        }
        into.shared(data)
    }

    fn failed(&mut self, broken: Broken) -> ProxyError {
        match broken {
            Broken::Gone => gone(Stage::ReceiveBody),
            Broken::TooLarge => ProxyError::downstream(Stage::ReceiveBody, Reason::HeadTooLarge),
            Broken::Protocol(code) => {
                self.broken = Some(code);
                malformed(Stage::ReceiveBody)
            }
        }
    }

    fn trailers(&mut self, section: &[u8]) -> Result<Fields, ProxyError> {
        section::read_trailers(section, self.limits).map_err(|refused| match refused {
            Refused::Answer(_, reason) => ProxyError::downstream(Stage::ReceiveBody, reason),
            Refused::Connection(code) => self.failed(Broken::Protocol(code)),
        })
    }
}

impl Downstream for Http3<'_> {
    fn poll_body(&mut self, cx: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>> {
        let part = ready!(self.receiving.poll_part(cx)).map_err(|broken| self.failed(broken))?;
        let trailers = match part {
            Some(Part::Data(data)) => return Poll::Ready(self.take(data, into)),
            Some(Part::Fields(section)) => self.trailers(&section)?,
            None => Fields::new(),
        };
        if self.owed.is_some_and(|owed| owed > 0) {
            return Poll::Ready(Err(malformed(Stage::ReceiveBody))); // RFC 9114 §4.1.2
        }
        into.end(&trailers);
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError> {
        if !self.gone && !self.finished {
            let _ = ready!(self.stopped.as_mut().poll(cx));
            self.gone = true;
        }
        if self.gone { Poll::Ready(gone(Stage::RelayAnswer)) } else { Poll::Pending }
    }

    /// Datagrams are read as they come, so a reset is heard.
    fn is_deaf(&self) -> bool {
        false
    }

    fn interim(&mut self, head: &ResponseHead) {
        self.push_section(Some(head.status()), &head.fields);
    }

    fn begin(&mut self, head: &ResponseHead, body: Framing, _: bool) -> Result<(), ProxyError> {
        let empty = matches!(body, Framing::None | Framing::Length(0));
        self.push_section(Some(head.status()), &head.fields);
        (self.begun, self.ended) = (true, empty || !has_body(self.method, head.status()));
        Ok(())
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ProxyError>> {
        ready!(self.poll_out(cx))?;
        Poll::Ready(Ok(READ))
    }

    fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        self.shared(Bytes::copy_from_slice(data))
    }

    fn shared(&mut self, data: Bytes) -> Result<(), ProxyError> {
        if !self.ended && !data.is_empty() {
            self.moved += data.len() as u64;
            let mut header = Vec::with_capacity(8);
            write_header(&mut header, kind::DATA, data.len());
            self.out.push_back(header.into());
            self.out.push_back(data);
        }
        Ok(())
    }

    fn end(&mut self, trailers: Option<&Fields>) -> Result<(), ProxyError> {
        if self.ended {
            return Ok(());
        }
        if let Some(trailers) = trailers.filter(|trailers| !trailers.is_empty()) {
            self.push_section(None, trailers);
        }
        self.ended = true;
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        ready!(self.poll_out(cx))?;
        if self.ended && !self.finished {
            self.finished = true;
            // It fails for a stream that the client has stopped, which is its end as well.
            let _ = self.send.finish();
        }
        Poll::Ready(Ok(()))
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn progress(&self) -> u64 {
        self.moved
    }
}
