//! Relaying a request and its answer at the same time, in one task and without channels.

use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use portcullis_http1::{Exchange, Framing, Piece};

use super::answer::explain;
use super::{Downstream, Surroundings};
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::tables::rule::Backend;
use crate::telemetry::Record;
use crate::upstream::Upstream;

/// When an attempt has to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    request: Option<Instant>,
    attempt: Option<Instant>,
}

impl Deadlines {
    pub(super) fn new(request: Option<Instant>, attempt: Option<Duration>) -> Deadlines {
        Deadlines { request, attempt: attempt.map(|timeout| Instant::now() + timeout) }
    }

    /// The earlier one, and why an exchange that it ends has failed.
    pub(super) fn first(&self) -> Option<(Instant, Reason)> {
        let request = self.request.map(|at| (at, Reason::RequestTimeout));
        let attempt = self.attempt.map(|at| (at, Reason::BackendTimeout));
        [request, attempt].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    pub(super) fn passed(&self) -> bool {
        self.first().is_some_and(|(at, _)| at <= Instant::now())
    }
}

/// An exchange with one endpoint.
pub(super) struct Relay<'a, D> {
    around: &'a Surroundings<'a>,
    scratch: &'a mut Scratch,
    down: &'a mut D,
    record: &'a mut Record,
    filters: (&'a CompiledRule, &'a Backend),
    upstream: Upstream,
    deadlines: Deadlines,
    /// Since when the client neither gives nor takes what it owes.
    stalled: Option<Instant>,
    seen_progress: u64,
    state: State,
    /// The endpoint takes no more of the request; its answer may still come.
    send_failed: bool,
    request_sent: bool,
    received_anything: bool,
    interim: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Body,
    Flush,
    Switch,
}

/// Whom an exchange waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    ForClient,
    ForEndpoint,
}

impl<'a, D: Downstream> Relay<'a, D> {
    pub(super) fn new(
        around: &'a Surroundings<'a>,
        scratch: &'a mut Scratch,
        down: &'a mut D,
        record: &'a mut Record,
        filters: (&'a CompiledRule, &'a Backend),
        upstream: Upstream,
        deadlines: Deadlines,
    ) -> Relay<'a, D> {
        scratch.input.clear();
        let seen_progress = down.progress();
        Relay {
            around,
            scratch,
            down,
            record,
            filters,
            upstream,
            deadlines,
            stalled: None,
            seen_progress,
            state: State::Head,
            send_failed: false,
            request_sent: false,
            received_anything: false,
            interim: 0,
        }
    }

    /// The connection; whether it is a tunnel now; whether it can serve another request.
    pub(super) fn into_upstream(self) -> (Upstream, bool, bool) {
        let switched = self.state == State::Switch;
        let in_step = self.request_sent && !self.send_failed && self.scratch.input.is_empty();
        let reusable = in_step && self.scratch.response.keep_alive();
        (self.upstream, switched, reusable)
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        let sending = self.poll_request(cx)?;
        let receiving = match self.poll_answer(cx) {
            Ok(None) => return Poll::Ready(Ok(())),
            Ok(Some(waiting)) => waiting,
            Err(error) => return Poll::Ready(Err(error)),
        };
        self.poll_deadlines(cx, sending == Waiting::ForClient || receiving == Waiting::ForClient)
    }

    /// Sends what has come of the request.
    fn poll_request(&mut self, cx: &mut Context<'_>) -> Result<Waiting, ProxyError> {
        while !self.request_sent && !self.send_failed {
            match self.scratch.outgoing.poll_write(cx, &mut self.upstream.stream) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) if self.upstream.reused && self.scratch.outgoing.untouched() => {
                    return Err(reset(Stage::SendHead, Replay::NothingSent));
                }
                Poll::Ready(Err(_)) => {
                    self.send_failed = true;
                    return Ok(Waiting::ForEndpoint);
                }
                Poll::Pending => return self.poll_client(cx),
            }
            if self.scratch.outgoing.ended() {
                self.request_sent = true;
                break;
            }
            let moved = self.down.poll_body(cx, &mut self.scratch.outgoing);
            self.record.received = self.scratch.outgoing.body_bytes();
            match moved {
                Poll::Ready(moved) => moved?,
                Poll::Pending => return Ok(Waiting::ForClient),
            }
        }
        if self.request_sent { self.poll_client(cx) } else { Ok(Waiting::ForEndpoint) }
    }

    /// While the endpoint is what the request waits for, a client that goes takes its request with it.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Result<Waiting, ProxyError> {
        match self.down.poll_gone(cx) {
            Poll::Ready(gone) => Err(gone),
            Poll::Pending => Ok(Waiting::ForEndpoint),
        }
    }

    /// Relays what has come of the answer; none at its end.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Result<Option<Waiting>, ProxyError> {
        loop {
            let waiting = match self.state {
                State::Head => self.poll_head(cx)?,
                State::Body => self.poll_body(cx)?,
                State::Flush | State::Switch => match self.down.poll_flush(cx)? {
                    Poll::Ready(()) => return Ok(None),
                    Poll::Pending => return Ok(Some(Waiting::ForClient)),
                },
            };
            // What is here already must not wait for what is to come.
            match waiting {
                None => {}
                Some(_) if self.down.poll_flush(cx)?.is_pending() => return Ok(Some(Waiting::ForClient)),
                Some(waiting) => return Ok(Some(waiting)),
            }
        }
    }

    /// Reads more of the answer; false at the end of the connection.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let limit = self.around.worker.shared.options.limits.upstream_head_bytes.0;
        let filled = self.scratch.input.poll_fill(cx, &mut self.upstream.stream, limit);
        let read = ready!(filled).unwrap_or(0); // a reset is as much of an end as a close
        self.received_anything |= read > 0;
        Poll::Ready(read > 0)
    }

    /// Reads the answer's head; whom it waits for, if it cannot.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Result<Option<Waiting>, ProxyError> {
        let scratch = &mut *self.scratch;
        let request = Exchange { method: scratch.request.method(), upgrade: scratch.request.upgrade() };
        let parsed = scratch.parser.parse(scratch.input.filled(), request, &mut scratch.response);
        let protocol = ProxyError::upstream(Stage::ReceiveAnswer, Replay::Never, Reason::UpstreamProtocol);
        match parsed.map_err(|_| protocol)? {
            Some(len) => {
                scratch.input.consume(len);
                if scratch.response.is_interim() {
                    self.interim += 1;
                    if self.interim > self.around.worker.shared.options.limits.interim_responses {
                        return Err(protocol);
                    }
                    scratch.response.strip_hop_by_hop();
                    self.down.interim(&scratch.response);
                } else {
                    self.begin()?;
                }
                Ok(None)
            }
            None => match self.poll_fill(cx) {
                Poll::Pending => Ok(Some(Waiting::ForEndpoint)),
                Poll::Ready(true) => Ok(None),
                Poll::Ready(false) if self.upstream.reused && !self.received_anything => {
                    Err(reset(Stage::ReceiveAnswer, Replay::ReusedClosed))
                }
                Poll::Ready(false) => Err(reset(Stage::ReceiveAnswer, Replay::Never)),
            },
        }
    }

    /// The answer's head is here: filters, then on to the client.
    fn begin(&mut self) -> Result<(), ProxyError> {
        let (rule, backend) = self.filters;
        let framing = self.scratch.response.framing();
        if framing == Framing::Tunnel && !self.request_sent {
            // What is left of the request would be taken for the new protocol (RFC 9110 §7.8).
            return Err(ProxyError::upstream(Stage::ReceiveAnswer, Replay::Never, Reason::UpstreamProtocol));
        }
        self.scratch.response.strip_hop_by_hop();
        rule.filters.on_response(&mut self.scratch.response);
        backend.filters.on_response(&mut self.scratch.response);
        self.record.status = self.scratch.response.status();
        explain(self.scratch, self.record, self.around);
        self.down.begin(&self.scratch.response, framing, self.request_sent)?;
        self.scratch.decoder.start(framing);
        self.state = match framing {
            Framing::Tunnel => State::Switch,
            _ => State::Body,
        };
        Ok(())
    }

    /// Relays some of the answer's body; whom it waits for, if it cannot.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Result<Option<Waiting>, ProxyError> {
        let Poll::Ready(room) = self.down.poll_room(cx)? else { return Ok(Some(Waiting::ForClient)) };
        let scratch = &mut *self.scratch;
        let input = scratch.input.filled();
        let input = input.get(..room).unwrap_or(input);
        let protocol = ProxyError::upstream(Stage::RelayAnswer, Replay::Never, Reason::UpstreamProtocol);
        let (used, piece) = scratch.decoder.decode(input).map_err(|_| protocol)?;
        match piece {
            Piece::Data(data) => {
                self.record.sent += data.len() as u64;
                self.down.data(data)?;
                scratch.input.consume(used);
            }
            Piece::End => {
                scratch.input.consume(used);
                self.end()?;
            }
            Piece::More => {
                scratch.input.consume(used);
                match self.poll_fill(cx) {
                    Poll::Pending => return Ok(Some(Waiting::ForEndpoint)),
                    Poll::Ready(true) => {}
                    Poll::Ready(false) => {
                        let cut = reset(Stage::RelayAnswer, Replay::Never);
                        self.scratch.decoder.close().map_err(|_| cut)?;
                        self.end()?;
                    }
                }
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<(), ProxyError> {
        let trailers = self.scratch.decoder.trailers();
        self.down.end(Some(trailers).filter(|trailers| !trailers.is_empty()))?;
        self.state = State::Flush;
        Ok(())
    }

    /// Ends the exchange when the rule's time is over, or the client has been silent for too long.
    fn poll_deadlines(&mut self, cx: &mut Context<'_>, client: bool) -> Poll<Result<(), ProxyError>> {
        let progress = self.down.progress();
        if !client || progress != self.seen_progress {
            (self.stalled, self.seen_progress) = (None, progress);
        }
        let patience = self.around.worker.shared.options.limits.body_timeout;
        let silence = (client && !patience.is_zero())
            .then(|| (*self.stalled.get_or_insert_with(|| Instant::now() + patience), Reason::ClientTimeout));
        let first = [self.deadlines.first(), silence].into_iter().flatten().min_by_key(|(at, _)| *at);
        let Some((at, reason)) = first else {
            self.around.timer.clear();
            return Poll::Pending;
        };
        self.around.timer.set_at(at);
        ready!(self.around.timer.poll_expired(cx));
        Poll::Ready(Err(match reason {
            Reason::ClientTimeout => ProxyError::downstream(Stage::ReceiveBody, reason),
            _ => ProxyError::upstream(Stage::ReceiveAnswer, Replay::Never, reason),
        }))
    }
}

fn reset(stage: Stage, replay: Replay) -> ProxyError {
    ProxyError::upstream(stage, replay, Reason::UpstreamReset)
}
