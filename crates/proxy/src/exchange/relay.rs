//! Relaying a request and its answer at the same time, in one task and without channels.

use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use portcullis_http1::{Exchange, Framing, Piece};

use super::answer::explain;
use super::deadlines::{Deadlines, Silence};
use super::{Downstream, Surroundings};
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::CompiledRule;
use crate::tables::rule::Backend;
use crate::telemetry::Record;
use crate::upstream::Upstream;

/// How often a client is looked for that cannot be heard to go.
const LOOK: Duration = Duration::from_secs(1);

/// An exchange with one endpoint.
pub(super) struct Relay<'a, D> {
    around: &'a Surroundings<'a>,
    scratch: &'a mut Scratch,
    down: &'a mut D,
    record: &'a mut Record,
    filters: (&'a CompiledRule, &'a Backend),
    upstream: Upstream,
    deadlines: Deadlines,
    /// The client neither gives nor takes what it owes.
    client_silence: Silence<u64>,
    /// The endpoint neither takes the request nor gives an answer.
    endpoint_silence: Silence<((u64, usize), u64)>,
    state: State,
    /// The endpoint takes no more of the request; its answer may still come.
    send_failed: bool,
    request_sent: bool,
    /// Bytes of the answer, its head included.
    received: u64,
    interim: usize,
    /// The connection over TLS has ended without a word.
    cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Body,
    Flush,
    Switch,
}

/// What an exchange waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The client gives or takes something.
    Client,
    /// The endpoint takes something.
    Room,
    /// The endpoint answers.
    Answer,
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
        let limits = &around.worker.shared.options.limits;
        let client_silence = Silence::new(limits.body_timeout, down.progress());
        let endpoint_silence = Silence::new(limits.upstream_send_timeout, ((0, 0), 0));
        Relay {
            around,
            scratch,
            down,
            record,
            filters,
            upstream,
            deadlines,
            client_silence,
            endpoint_silence,
            state: State::Head,
            send_failed: false,
            request_sent: false,
            received: 0,
            interim: 0,
            cut: false,
        }
    }

    /// The connection; whether it is a tunnel now; whether it can serve another request.
    pub(super) fn into_upstream(self) -> (Upstream, bool, bool) {
        let switched = self.state == State::Switch;
        let in_step = self.request_sent && !self.send_failed && self.scratch.input.is_empty();
        let reusable = in_step && self.scratch.response.keep_alive();
        (self.upstream, switched, reusable)
    }

    /// Ends the connection of a failed exchange. The endpoint must not take a part of a request for the whole, nor
    /// the kernel keep what was not taken.
    pub(super) fn abandon(self) {
        if !self.request_sent {
            self.upstream.stream.reset();
        }
    }

    /// Whether nothing of the request can have reached the endpoint. What a failed write over TLS has sent of its
    /// records is not known.
    fn unsent(&self) -> bool {
        self.scratch.outgoing.untouched() && !self.upstream.stream.is_tls()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        let sending = self.poll_request(cx)?;
        let receiving = match self.poll_answer(cx) {
            Ok(None) => return Poll::Ready(Ok(())),
            Ok(Some(waiting)) => waiting,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let client = sending == Waiting::Client || receiving == Waiting::Client;
        self.poll_deadlines(cx, client, sending == Waiting::Room)
    }

    /// Sends what has come of the request.
    fn poll_request(&mut self, cx: &mut Context<'_>) -> Result<Waiting, ProxyError> {
        while !self.request_sent && !self.send_failed {
            match self.scratch.outgoing.poll_write(cx, &mut self.upstream.stream) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) if self.upstream.reused && self.unsent() => {
                    return Err(reset(Stage::SendRequest, Replay::NothingSent));
                }
                Poll::Ready(Err(_)) => {
                    self.send_failed = true;
                    break;
                }
                Poll::Pending => return self.poll_client(cx, Waiting::Room),
            }
            if self.scratch.outgoing.ended() {
                self.request_sent = true;
                break;
            }
            let moved = self.down.poll_body(cx, &mut self.scratch.outgoing);
            self.record.received = self.scratch.outgoing.body_bytes();
            match moved {
                Poll::Ready(moved) => moved?,
                Poll::Pending => return Ok(Waiting::Client),
            }
        }
        self.poll_client(cx, Waiting::Answer)
    }

    /// While the endpoint is what the request waits for, a client that goes takes its request with it.
    fn poll_client(&mut self, cx: &mut Context<'_>, waiting: Waiting) -> Result<Waiting, ProxyError> {
        match self.down.poll_gone(cx) {
            Poll::Ready(gone) => Err(gone),
            Poll::Pending => Ok(waiting),
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
                    Poll::Pending => return Ok(Some(Waiting::Client)),
                },
            };
            // What is here already must not wait for what is to come.
            match waiting {
                None => {}
                Some(_) if self.down.poll_flush(cx)?.is_pending() => return Ok(Some(Waiting::Client)),
                Some(waiting) => return Ok(Some(waiting)),
            }
        }
    }

    /// Reads more of the answer; false at the end of the connection.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let limit = self.around.worker.shared.options.limits.upstream_head_bytes.0;
        let filled = self.scratch.input.poll_fill(cx, &mut self.upstream.stream, limit);
        let filled = ready!(filled);
        // Over TLS an end that was not announced may be an attacker's (RFC 9112 §9.8).
        self.cut |= filled.is_err() && self.upstream.stream.is_tls();
        let read = filled.unwrap_or(0); // a reset is as much of an end as a close
        self.received += read as u64;
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
                Poll::Pending => Ok(Some(Waiting::Answer)),
                Poll::Ready(true) => Ok(None),
                Poll::Ready(false) if self.upstream.reused && self.received == 0 => {
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
        let Poll::Ready(room) = self.down.poll_room(cx)? else { return Ok(Some(Waiting::Client)) };
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
                    Poll::Pending => return Ok(Some(Waiting::Answer)),
                    Poll::Ready(true) => {}
                    Poll::Ready(false) => {
                        let cut = reset(Stage::RelayAnswer, Replay::Never);
                        if self.cut || self.scratch.decoder.close().is_err() {
                            return Err(cut);
                        }
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

    /// Ends the exchange when the rule's time is over, or one side has been silent for too long: the client that
    /// owes something, or the endpoint that has no room for the request.
    fn poll_deadlines(
        &mut self,
        cx: &mut Context<'_>,
        client: bool,
        room: bool,
    ) -> Poll<Result<(), ProxyError>> {
        let client = self.client_silence.until(client, self.down.progress());
        let progress = (self.scratch.outgoing.progress(), self.received);
        let endpoint = self.endpoint_silence.until(room, progress);
        let silences =
            [client.map(|at| (at, Reason::ClientTimeout)), endpoint.map(|at| (at, Reason::SendTimeout))];
        let ends = silences.into_iter().chain([self.deadlines.first()]).flatten().min_by_key(|(at, _)| *at);
        let look = self.down.is_deaf().then(|| Instant::now() + LOOK);
        let Some(at) = ends.map(|(at, _)| at).into_iter().chain(look).min() else {
            self.around.timer.clear();
            return Poll::Pending;
        };
        self.around.timer.set_at(at);
        ready!(self.around.timer.poll_expired(cx));
        Poll::Ready(Err(match ends {
            Some((_, Reason::ClientTimeout)) => {
                ProxyError::downstream(Stage::ReceiveBody, Reason::ClientTimeout)
            }
            Some((_, Reason::SendTimeout)) => {
                ProxyError::upstream(Stage::SendRequest, Replay::Never, Reason::SendTimeout)
            }
            Some((_, reason)) => ProxyError::upstream(Stage::ReceiveAnswer, Replay::Never, reason),
            None => return Poll::Pending,
        }))
    }
}

fn reset(stage: Stage, replay: Replay) -> ProxyError {
    ProxyError::upstream(stage, replay, Reason::UpstreamReset)
}
