//! Asking a service whether a request may pass. Without its word none does.

mod asked;

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use portcullis_http1::{Framing, Known, ResponseHead, Version};

use self::asked::{Answer, Asked};
use super::forward::forward;
use super::{Downstream, Failed, Surroundings, answer};
use crate::error::{ProxyError, Stage};
use crate::filters::Judgement;
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::rule::CompiledAsk;
use crate::telemetry::Record;
use crate::timer::within;

/// Asks. True if the request may pass, changed as the service says; else its answer was the client's.
pub(super) async fn ask<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
    ask: &CompiledAsk,
) -> Result<bool, Failed> {
    let limit = ask.filter.body_limit;
    let mut body = Bytes::new();
    if limit > 0 && scratch.request.framing() != Framing::None {
        if !scratch.outgoing.is_held() {
            let held = hold(around, scratch, down, limit).await;
            record.received = scratch.outgoing.body_bytes();
            held?;
        }
        body = scratch.outgoing.held().filter(|body| body.len() <= limit).ok_or(TOO_LARGE)?;
    }
    let Answer { head, body, trailers } = question(around, scratch, down, record, (ask, body)).await?;
    let none = Failed { status: 503, error: ProxyError::configuration(Reason::AuthFailed) };
    match ask.filter.judge(head, body, &trailers).ok_or(none)? {
        Judgement::Granted(grant) => {
            grant.apply(&mut scratch.request);
            scratch.granted.extend(grant.answer);
            Ok(true)
        }
        Judgement::Refused(refusal) => {
            record.reason = Reason::AuthDenied;
            answer::denial(scratch, down, record, (&refusal.head, &refusal.body), around).await?;
            Ok(false)
        }
    }
}

const TOO_LARGE: ProxyError = ProxyError::downstream(Stage::ReceiveBody, Reason::BodyTooLarge);

/// Sends the question and takes the answer.
async fn question<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &Scratch,
    down: &mut D,
    record: &Record,
    (ask, body): (&CompiledAsk, Bytes),
) -> Result<Answer, Failed> {
    let worker = around.worker;
    let limits = &worker.shared.options.limits;
    let bad = ProxyError::downstream(Stage::ReceiveHead, Reason::BadRequest);
    let mut own = worker.scratches.take();
    let (head, body) = ask.filter.question(&scratch.request, record.client, body).map_err(|_| bad)?;
    own.request = head;
    let mut asked = Asked::new(down, body, limits.auth_answer_bytes.0);
    let (timer, whole) = (worker.timer(), worker.timer());
    let around = Surroundings { worker, timer: &timer, client: around.client, served: None };
    let mut asking = Record::new(record.client, Version::Http11);
    asking.started = record.started;
    whole.set(limits.auth_timeout);
    let backend = (&ask.treatment, &ask.backend);
    let forwarded = within(&whole, forward(&around, &mut own, &mut asked, &mut asking, backend, None)).await;
    let failed = |error: ProxyError| match error.is_the_clients() {
        true => error.into(),
        false => Failed { status: error.status(), error: ProxyError { reason: Reason::AuthFailed, ..error } },
    };
    match forwarded {
        Some(Ok(_)) => {
            worker.scratches.give_back(own);
            asked.answer().ok_or_else(|| failed(ProxyError::internal(Stage::ReceiveAnswer)))
        }
        Some(Err(Failed { error, .. })) => Err(failed(error)),
        None => Err(Failed { status: 504, error: ProxyError::configuration(Reason::AuthFailed) }),
    }
}

/// Takes in a body of this length at most, before anything of the request goes anywhere.
async fn hold<D: Downstream>(
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
    limit: usize,
) -> Result<(), ProxyError> {
    if matches!(scratch.request.framing(), Framing::Length(length) if length > limit as u64) {
        return Err(TOO_LARGE);
    }
    scratch.outgoing.hold(&scratch.request, limit)?;
    if scratch.request.expects_continue() {
        let mut go_on = ResponseHead::new();
        go_on.start(Version::Http11, 100);
        down.interim(&go_on);
        scratch.request.fields.remove_known(Known::Expect);
    }
    let patience = around.worker.shared.options.limits.body_timeout;
    around.timer.set(patience);
    let mut progress = down.progress();
    let taken = poll_fn(|cx| {
        if progress != down.progress() {
            progress = down.progress();
            around.timer.set(patience);
        }
        poll_hold(cx, around, scratch, down)
    });
    let taken = taken.await;
    around.timer.clear();
    taken
}

fn poll_hold<D: Downstream>(
    cx: &mut Context<'_>,
    around: &Surroundings<'_>,
    scratch: &mut Scratch,
    down: &mut D,
) -> Poll<Result<(), ProxyError>> {
    while !scratch.outgoing.ended() {
        let _pending = down.poll_flush(cx)?; // a client that waits to be told to go on is told
        match down.poll_body(cx, &mut scratch.outgoing) {
            Poll::Ready(moved) => moved?,
            Poll::Pending => {
                ready!(around.timer.poll_expired(cx));
                return Poll::Ready(Err(ProxyError::downstream(Stage::ReceiveBody, Reason::ClientTimeout)));
            }
        }
        if !scratch.outgoing.can_rewind() {
            return Poll::Ready(Err(TOO_LARGE));
        }
    }
    Poll::Ready(Ok(()))
}
