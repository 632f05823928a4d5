//! Waiting for a request, and reading its head.

use std::future::poll_fn;
use std::task::{Context, Poll};

use portcullis_http1::{HeadError, RequestParser};

use super::downstream::Http1;
use super::{LONG, parser};
use crate::connection::{Connection, PREFACE};
use crate::reason::Reason;
use crate::scratch::Scratch;

/// What came next on a connection.
pub(super) enum Next {
    /// A request; its head is in the scratch.
    Request(Box<Scratch>),
    /// The preface of HTTP/2, as far as it was read.
    Http2(Vec<u8>),
    /// Something else, or a request that came too slowly.
    Refused(Refused),
    /// Nothing.
    End,
}

/// What is answered to something that is no request.
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) reason: Reason,
}

impl From<HeadError> for Refused {
    fn from(error: HeadError) -> Refused {
        let status = error.status();
        Refused { status, reason: if status == 431 { Reason::HeadTooLarge } else { Reason::BadRequest } }
    }
}

/// What is being read.
struct Reading<'a> {
    connection: &'a Connection,
    parser: RequestParser,
    /// Some of the head is here, so its time runs.
    begun: bool,
    or_http2: bool,
    noticed_drain: bool,
    /// Taken when something comes: an idle connection holds none.
    scratch: Option<Box<Scratch>>,
}

/// Waits for the next request.
pub(super) async fn next(connection: &Connection, http1: &mut Http1, first: bool, or_http2: bool) -> Next {
    let limits = &connection.worker.shared.options.limits;
    if !first {
        let idle = limits.idle_timeout;
        connection.timer.set(if idle.is_zero() { LONG } else { idle });
    }
    let mut reading = Reading {
        connection,
        parser: parser(connection),
        begun: first, // the time of the first head runs from accepting
        or_http2,
        noticed_drain: false,
        scratch: None,
    };
    let next = poll_fn(|cx| reading.poll(cx, http1)).await;
    connection.timer.clear();
    next
}

impl Reading<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, http1: &mut Http1) -> Poll<Next> {
        let limits = &self.connection.worker.shared.options.limits;
        loop {
            if let Some(next) = self.parse(http1) {
                return Poll::Ready(next);
            }
            if !http1.input.is_empty() && !self.begun {
                self.begun = true;
                self.connection.timer.set(limits.head_timeout);
            }
            match http1.poll_fill(cx, limits.head_bytes.0) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                // A head that was cut off. Its client may still be there to hear it.
                Poll::Ready(Ok(_)) if !http1.input.is_empty() => {
                    return Poll::Ready(Next::Refused(Refused { status: 400, reason: Reason::BadRequest }));
                }
                Poll::Ready(_) => return Poll::Ready(Next::End),
                Poll::Pending => return self.poll_timeout(cx, http1),
            }
        }
    }

    fn parse(&mut self, http1: &mut Http1) -> Option<Next> {
        let input = http1.input.filled();
        if input.is_empty() {
            return None;
        }
        if self.or_http2 && input.starts_with(PREFACE) {
            return Some(Next::Http2(http1.input.take()));
        }
        self.or_http2 = self.or_http2 && PREFACE.starts_with(input);
        if self.or_http2 {
            return None;
        }
        let mut scratch = self.scratch.take().unwrap_or_else(|| self.connection.worker.scratches.take());
        match self.parser.parse(input, &mut scratch.request) {
            Ok(Some(len)) => {
                http1.input.consume(len);
                Some(Next::Request(scratch))
            }
            Ok(None) => {
                self.scratch = Some(scratch);
                None
            }
            Err(error) => Some(Next::Refused(error.into())),
        }
    }

    fn poll_timeout(&mut self, cx: &mut Context<'_>, http1: &Http1) -> Poll<Next> {
        let limits = &self.connection.worker.shared.options.limits;
        let leaves = self.connection.worker.draining() || self.connection.client.is_leaving();
        if !self.begun && !self.noticed_drain && leaves {
            self.noticed_drain = true;
            self.connection.timer.set(limits.drain_idle_timeout);
        }
        self.connection.timer.poll_expired(cx).map(|()| {
            if http1.input.is_empty() {
                Next::End
            } else {
                Next::Refused(Refused { status: 408, reason: Reason::ClientTimeout })
            }
        })
    }
}
