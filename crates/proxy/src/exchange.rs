//! One request and its answer, whatever version of HTTP the client speaks.
//!
//! Read in this order: [`prerouting`] (what a listener does with every request), [`route`] (which rule), [`identity`] (who asks), [`auth`] (whether it may pass), [`forward`] (to which endpoint),
//! [`attempts`] (and again if that is safe), [`endpoint`] (over which version), [`relay`] (both bodies, in one task),
//! [`mirror`] (copies), [`answer`] (what the proxy says itself).

mod answer;
mod attempts;
mod auth;
mod deadlines;
mod endpoint;
mod forward;
mod identity;
mod mirror;
mod outgoing;
mod prerouting;
mod relay;
mod route;
mod websocket;

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use portcullis_http1::{Fields, Framing, Method, ResponseHead};

pub(crate) use identity::Client;
pub(crate) use outgoing::Outgoing;

use crate::buffers::InBuf;
use crate::error::{ProxyError, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::rule::{CompiledAction, CompiledTarget, Refusal};
use crate::tables::{CompiledRule, ServedPort};
use crate::telemetry::{Record, Summary};
use crate::timer::Timer;
use crate::upstream::UpstreamStream;
use crate::worker::Worker;

/// The client's side of an exchange. HTTP/1 and HTTP/2 differ here and nowhere else.
pub(crate) trait Downstream {
    /// Moves body bytes that have come into the request. Ready when some were moved, or the end was.
    fn poll_body(&mut self, cx: &mut Context<'_>, into: &mut Outgoing) -> Poll<Result<(), ProxyError>>;

    /// Ready when the client is known to have gone; called while the endpoint is what the request waits for.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<ProxyError>;

    /// Whether the client could go without this task being woken: no more of what it sends is taken in. Then
    /// [`poll_gone`](Downstream::poll_gone) has to be called now and then.
    fn is_deaf(&self) -> bool;

    /// Relays an answer with status 1xx.
    fn interim(&mut self, head: &ResponseHead);

    /// Begins the answer. `body` is how it ends; the version may have to frame it anew. Without `request_ended` the
    /// client still owes a part of its body.
    fn begin(&mut self, head: &ResponseHead, body: Framing, request_ended: bool) -> Result<(), ProxyError>;

    /// How many bytes of the answer's body can be taken now; at least 1 when ready.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ProxyError>>;

    /// Takes bytes of the answer's body, no more than there is room for.
    fn data(&mut self, data: &[u8]) -> Result<(), ProxyError>;

    /// Takes the same from memory that may be shared.
    fn shared(&mut self, data: Bytes) -> Result<(), ProxyError> {
        self.data(&data)
    }

    /// Ends the answer.
    fn end(&mut self, trailers: Option<&Fields>) -> Result<(), ProxyError>;

    /// Ready when everything is on its way.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>>;

    /// Whether the answer has begun, so that there can be no other.
    fn begun(&self) -> bool;

    /// Grows whenever the client takes or gives something.
    fn progress(&self) -> u64;
}

/// Whether an answer has a body at all (RFC 9110 §6.4.1).
pub(crate) fn has_body(method: Method, status: u16) -> bool {
    method != Method::Head && !matches!(status, 100..=199 | 204 | 304)
}

/// How an exchange ended.
pub(crate) enum Ended {
    /// With an answer.
    Answered,
    /// With a 101: both connections are a tunnel now. The endpoint may have said something already.
    Switched(UpstreamStream, InBuf),
}

/// What an exchange happens in.
pub(crate) struct Surroundings<'a> {
    pub(crate) worker: &'a Rc<Worker>,
    pub(crate) timer: &'a Timer,
    pub(crate) client: &'a Client,
    pub(crate) served: Option<&'a Arc<ServedPort>>,
}

/// Answers a request. On an error an answer of our own has been sent, if none had begun; if one had, the connection
/// or stream is to be cut.
pub(crate) async fn run<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
) -> Result<Ended, ProxyError> {
    if around.worker.shared.access_log.is_some() {
        record.summary = Some(Summary::of(&scratch.request));
    }
    match attempt(around, scratch, down, record).await {
        Ok(ended) => Ok(ended),
        Err(failure) => {
            record.reason = failure.error.reason;
            if !down.begun() && failure.error.reason != Reason::ClientClosed {
                answer::failure(scratch, down, record, failure.status, around).await?;
            }
            Err(failure.error)
        }
    }
}

/// An error, and the status to answer with.
pub(crate) struct Failed {
    error: ProxyError,
    status: u16,
}

impl From<ProxyError> for Failed {
    fn from(error: ProxyError) -> Failed {
        Failed { status: error.status(), error }
    }
}

impl From<&Refusal> for Failed {
    fn from(refusal: &Refusal) -> Failed {
        Failed { status: refusal.status, error: ProxyError::configuration(refusal.reason) }
    }
}

async fn attempt<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
) -> Result<Ended, Failed> {
    identity::settle(around, &mut scratch.request, record);
    if let Some(served) = around.served.filter(|served| !served.preroutings.is_empty())
        && !Box::pin(prerouting::run(around, served, scratch, down, record)).await?
    {
        return Ok(Ended::Answered);
    }
    let routed = route::route(around, &mut scratch.request, record)?;
    let rule: &CompiledRule = routed.entry.compiled();
    if let Some(cors) = rule.treatment.filters.cors() {
        cors.decide(&scratch.request, &mut scratch.cors);
        if routed.preflight {
            cors.decide_preflight(&scratch.request, &mut scratch.cors);
            record.reason = Reason::Preflight;
            answer::preflight(scratch, down, record, around).await?;
            return Ok(Ended::Answered);
        }
    }
    if !matches!(rule.action, CompiledAction::Fail(_)) {
        for ask in &rule.asks {
            // Apart, so that the task of a client's connection is no larger for it.
            if !Box::pin(auth::ask(around, scratch, down, record, ask)).await? {
                return Ok(Ended::Answered);
            }
        }
    }
    match &rule.action {
        CompiledAction::Fail(refusal) => Err(refusal.into()),
        CompiledAction::Redirect(redirect) => {
            record.reason = Reason::Redirect;
            answer::redirect(scratch, down, record, (redirect, rule), routed.prefix_len, around).await?;
            Ok(Ended::Answered)
        }
        CompiledAction::Forward(shares) => {
            let backend = shares.next(around.worker.index).ok_or(ProxyError::internal(Stage::Route))?;
            if !rule.mirrors.is_empty() && matches!(backend.target, CompiledTarget::Cluster(_)) {
                mirror::begin(around, scratch, rule, routed.prefix_len);
            }
            let backend = (&rule.treatment, backend);
            forward::forward(around, scratch, down, record, backend, routed.prefix_len).await
        }
    }
}
