//! The client's side of an exchange over an HTTP/2 stream.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason as Http2Reason, RecvStream, SendStream};
use http::header::SEC_WEBSOCKET_ACCEPT;
use http::{Response, StatusCode};
use portcullis_http1::{Fields, Framing, Method, RequestHead, ResponseHead};

use crate::buffers::READ;
use crate::error::{ProxyError, Replay, Stage};
use crate::exchange::{Downstream, Outgoing, has_body};
use crate::http2::{self, Tunneled};
use crate::reason::Reason;

/// A stream and where its exchange stands.
pub(super) struct Http2 {
    respond: SendResponse<Bytes>,
    body: RecvStream,
    /// The body of the answer, once it has begun; none if it has no body.
    answer: Option<SendStream<Bytes>>,
    begun: bool,
    ended: bool,
    /// The last bytes, kept back so that the end may travel with them.
    last: Option<Bytes>,
    method: Method,
    /// It is to become a tunnel (RFC 8441).
    connect: bool,
    moved: u64,
}

fn gone(stage: Stage) -> ProxyError {
    ProxyError::downstream(stage, Reason::ClientClosed)
}

impl Http2 {
    pub(super) fn new(respond: SendResponse<Bytes>, body: RecvStream, head: &RequestHead) -> Http2 {
        Http2 {
            respond,
            body,
            answer: None,
            begun: false,
            ended: false,
            last: None,
            method: head.method(),
            connect: head.upgrade().is_some(),
            moved: 0,
        }
    }

    /// The tunnel that the stream has become.
    pub(super) fn into_tunnel(self) -> Option<Tunneled> {
        Some(Tunneled::new(self.body, self.answer?, Bytes::new()))
    }

    /// RFC 8441 §5: a tunnel begins with 200, and says nothing of the upgrade that HTTP/1.1 knows.
    fn begin_tunnel(&mut self, head: &ResponseHead) -> Result<(), ProxyError> {
        let mut response = response(head);
        *response.status_mut() = StatusCode::OK;
        response.headers_mut().remove(SEC_WEBSOCKET_ACCEPT);
        let sent = self.respond.send_response(response, false);
        self.answer = Some(sent.map_err(|_| gone(Stage::RelayAnswer))?);
        self.begun = true;
        Ok(())
    }

    /// Answers what is no request.
    pub(super) fn refuse(&mut self, status: u16) {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        // A client that has gone needs no answer.
        let _ = self.respond.send_response(response, true);
    }

    /// Whether an answer was sent whole.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Ends the stream so that the client knows its answer to be cut off, for the reason that the endpoint gave.
    pub(super) fn cut(&mut self, code: Option<Http2Reason>) {
        if self.ended {
            return;
        }
        let code = code.map_or(Http2Reason::INTERNAL_ERROR, http2::passed_on);
        match &mut self.answer {
            Some(answer) => answer.send_reset(code),
            None => self.respond.send_reset(code),
        }
    }

    fn send(&mut self, data: Bytes, end: bool) -> Result<(), ProxyError> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        self.moved += data.len() as u64;
        answer.send_data(data, end).map_err(|_| gone(Stage::RelayAnswer))
    }

    fn send_last(&mut self) -> Result<(), ProxyError> {
        match self.last.take() {
            Some(data) => self.send(data, false),
            None => Ok(()),
        }
    }
}

/// The head as `h2` takes it. Fields that HTTP/2 cannot carry have no place in a valid head.
fn response(head: &ResponseHead) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = http2::headers(&head.fields, None);
    response
}

impl Downstream for Http2 {
    fn poll_body(&mut self, cx: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>> {
        let failed = |error: h2::Error| match error.is_reset() && !error.is_remote() {
            true => ProxyError::downstream(Stage::ReceiveBody, Reason::BadRequest),
            false => gone(Stage::ReceiveBody),
        };
        match ready!(self.body.poll_data(cx)) {
            Some(Ok(data)) => {
                self.moved += data.len() as u64;
                let len = data.len();
                into.shared(data)?;
                // It fails only for more than was received.
                let _ = self.body.flow_control().release_capacity(len);
            }
            Some(Err(error)) => return Poll::Ready(Err(failed(error))),
            None => {
                let trailers = ready!(self.body.poll_trailers(cx)).map_err(failed)?;
                into.end(&http2::trailers(trailers.as_ref()));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError> {
        let reset = match &mut self.answer {
            Some(answer) => answer.poll_reset(cx),
            None if self.begun => return Poll::Pending,
            None => self.respond.poll_reset(cx),
        };
        reset.map(|_| gone(Stage::RelayAnswer))
    }

    /// Frames are read as they come, so a reset is heard.
    fn is_deaf(&self) -> bool {
        false
    }

    fn interim(&mut self, head: &ResponseHead) {
        // A client that has gone needs no hints.
        let _ = self.respond.send_informational(response(head));
    }

    fn begin(&mut self, head: &ResponseHead, body: Framing, _: bool) -> Result<(), ProxyError> {
        match (self.connect, body) {
            (_, Framing::Tunnel) => return self.begin_tunnel(head),
            // Any success would be taken for a tunnel.
            (true, _) if (200..300).contains(&head.status()) => {
                let (stage, reason) = (Stage::ReceiveAnswer, Reason::UpstreamProtocol);
                return Err(ProxyError::upstream(stage, Replay::Never, reason));
            }
            _ => {}
        }
        let empty = matches!(body, Framing::None | Framing::Length(0));
        let ended = empty || !has_body(self.method, head.status());
        let sent = self.respond.send_response(response(head), ended);
        let answer = sent.map_err(|_| gone(Stage::RelayAnswer))?;
        (self.begun, self.ended) = (true, ended);
        self.answer = (!ended).then_some(answer);
        Ok(())
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ProxyError>> {
        let Some(answer) = &mut self.answer else { return Poll::Ready(Ok(READ)) };
        let held = self.last.as_ref().map_or(0, Bytes::len);
        answer.reserve_capacity(held + READ);
        while answer.capacity() <= held {
            match ready!(answer.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                _ => return Poll::Ready(Err(gone(Stage::RelayAnswer))),
            }
        }
        Poll::Ready(Ok(answer.capacity() - held))
    }

    fn data(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        self.shared(Bytes::copy_from_slice(data))
    }

    fn shared(&mut self, data: Bytes) -> Result<(), ProxyError> {
        self.send_last()?;
        self.last = self.answer.is_some().then_some(data);
        Ok(())
    }

    fn end(&mut self, trailers: Option<&Fields>) -> Result<(), ProxyError> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        match trailers {
            Some(trailers) => {
                self.send_last()?;
                let trailers = http2::headers(trailers, None);
                let sent = self.answer.as_mut().map(|answer| answer.send_trailers(trailers));
                sent.unwrap_or(Ok(())).map_err(|_| gone(Stage::RelayAnswer))
            }
            None => {
                let last = self.last.take().unwrap_or_default();
                self.send(last, true)
            }
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        Poll::Ready(self.send_last())
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn progress(&self) -> u64 {
        self.moved
    }
}
