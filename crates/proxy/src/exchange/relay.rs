//! Relaying a request and its answer at the same time, in one task and without channels.

use std::task::{Context, Poll, ready};
use std::time::Instant;

use portcullis_http1::{Framing, Known};
use portcullis_model::Retry;
use portcullis_routing::is_grpc;

use super::answer::{announce, explain};
use super::attempts::LOOK;
use super::deadlines::{Deadlines, Silence};
use super::endpoint::{Endpoint, Passed};
use super::{Downstream, Surroundings, websocket};
use crate::error::{ProxyError, Replay, Stage};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::tables::rule::Backend;
use crate::tables::rule::Treatment;
use crate::telemetry::Record;

/// The status of a gRPC server that cannot take calls now.
const GRPC_UNAVAILABLE: &[u8] = b"14";

/// An exchange with one endpoint.
pub(super) struct Relay<'a, D, E> {
    around: &'a Surroundings<'a>,
    scratch: &'a mut Scratch,
    down: &'a mut D,
    record: &'a mut Record,
    filters: (&'a Treatment, &'a Backend),
    policy: Option<&'a Retry>,
    endpoint: E,
    deadlines: Deadlines,
    /// The client neither gives nor takes what it owes.
    client_silence: Silence<u64>,
    /// The endpoint neither takes the request nor gives an answer.
    endpoint_silence: Silence<((u64, usize), u64)>,
    state: State,
    /// The endpoint takes no more of the request; its answer may still come.
    send_failed: bool,
    request_sent: bool,
    interim: usize,
    /// The request is a gRPC call, whose client may be silent for as long as it likes: streams are for that.
    call: bool,
}

/// How a successful exchange leaves its endpoint.
pub(super) struct Outcome {
    /// The answer is one that is not taken for the last word; nothing of it was passed on.
    pub(super) again: bool,
    /// The connection is a tunnel now.
    pub(super) switched: bool,
    /// The endpoint took the whole request.
    pub(super) in_step: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Body,
    Flush,
    Switch,
    Again,
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

impl<'a, D: Downstream, E: Endpoint> Relay<'a, D, E> {
    pub(super) fn new(
        around: &'a Surroundings<'a>,
        scratch: &'a mut Scratch,
        down: &'a mut D,
        record: &'a mut Record,
        (filters, policy): ((&'a Treatment, &'a Backend), Option<&'a Retry>),
        endpoint: E,
        deadlines: Deadlines,
    ) -> Relay<'a, D, E> {
        scratch.input.clear();
        scratch.parser.restart();
        let call = scratch.request.fields.known_value(Known::ContentType).is_some_and(is_grpc);
        let limits = &around.worker.shared.options.limits;
        let client_silence = Silence::new(limits.body_timeout, down.progress());
        let endpoint_silence = Silence::new(limits.upstream_send_timeout, ((0, 0), 0));
        Relay {
            around,
            scratch,
            down,
            record,
            filters,
            policy,
            endpoint,
            deadlines,
            client_silence,
            endpoint_silence,
            state: State::Head,
            send_failed: false,
            request_sent: false,
            interim: 0,
            call,
        }
    }

    /// The endpoint, and what is true of it after the exchange.
    pub(super) fn into_endpoint(self) -> (E, Outcome) {
        let outcome = Outcome {
            again: self.state == State::Again,
            switched: self.state == State::Switch,
            in_step: self.request_sent && !self.send_failed,
        };
        (self.endpoint, outcome)
    }

    /// Ends what is left of a failed exchange.
    pub(super) fn abandon(self) {
        self.endpoint.abandon(self.request_sent);
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyError>> {
        let sending = self.poll_request(cx)?;
        let receiving = match self.poll_answer(cx) {
            Ok(None) => return Poll::Ready(Ok(())),
            Ok(Some(waiting)) => waiting,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let client = (sending == Waiting::Client && !self.call) || receiving == Waiting::Client;
        self.poll_deadlines(cx, client, sending == Waiting::Room)
    }

    /// Sends what has come of the request.
    fn poll_request(&mut self, cx: &mut Context<'_>) -> Result<Waiting, ProxyError> {
        while !self.request_sent && !self.send_failed {
            match self.endpoint.poll_send(cx, self.scratch)? {
                Poll::Ready(true) => {}
                Poll::Ready(false) => {
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
                State::Again => return Ok(None),
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

    /// Reads the answer's head; whom it waits for, if it cannot.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Result<Option<Waiting>, ProxyError> {
        let Poll::Ready(framing) = self.endpoint.poll_head(cx, self.scratch)? else {
            return Ok(Some(Waiting::Answer));
        };
        if !self.scratch.response.is_interim() {
            self.begin(framing)?;
            return Ok(None);
        }
        self.interim += 1;
        if self.interim > self.around.worker.shared.options.limits.interim_responses {
            return Err(protocol(Stage::ReceiveAnswer));
        }
        self.scratch.response.strip_hop_by_hop();
        self.down.interim(&self.scratch.response);
        Ok(None)
    }

    /// The answer's head is here: filters, then on to the client.
    fn begin(&mut self, framing: Framing) -> Result<(), ProxyError> {
        let (rule, backend) = self.filters;
        if let Some(endpoint) = &self.record.endpoint {
            endpoint.target.health.succeeded();
        }
        if framing == Framing::Tunnel && !self.request_sent {
            // What is left of the request would be taken for the new protocol (RFC 9110 §7.8).
            return Err(protocol(Stage::ReceiveAnswer));
        }
        if framing == Framing::Tunnel
            && !websocket::is_answered(&self.scratch.request, &self.scratch.response)
        {
            return Err(protocol(Stage::ReceiveAnswer));
        }
        if self.policy.is_some_and(|policy| self.is_wanted_again(policy)) {
            self.state = State::Again;
            return Ok(());
        }
        self.scratch.outgoing.answered();
        self.scratch.response.strip_hop_by_hop();
        self.scratch.settle_answer();
        rule.filters.on_response(&mut self.scratch.response);
        backend.filters.on_response(&mut self.scratch.response);
        self.record.status = self.scratch.response.status();
        explain(self.scratch, self.record, self.around);
        announce(&mut self.scratch.response, self.around);
        self.down.begin(&self.scratch.response, framing, self.request_sent)?;
        self.scratch.decoder.start(framing);
        self.state = match framing {
            Framing::Tunnel => State::Switch,
            _ => State::Body,
        };
        Ok(())
    }

    /// Whether the answer is one after which the rule has the request tried again, and that is possible: of these
    /// statuses, or a gRPC server's word that it is not available, before any message.
    fn is_wanted_again(&self, policy: &Retry) -> bool {
        let response = &self.scratch.response;
        let unavailable = || response.fields.known_value(Known::GrpcStatus) == Some(GRPC_UNAVAILABLE);
        (policy.codes.contains(&response.status()) || unavailable())
            && self.scratch.outgoing.can_rewind()
            && !self.deadlines.passed()
    }

    /// Relays some of the answer's body; whom it waits for, if it cannot.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Result<Option<Waiting>, ProxyError> {
        let Poll::Ready(room) = self.down.poll_room(cx)? else { return Ok(Some(Waiting::Client)) };
        match self.endpoint.poll_body(cx, self.scratch, room, self.down)? {
            Poll::Ready(Passed::Data(passed)) => self.record.sent += passed as u64,
            Poll::Ready(Passed::End) => self.state = State::Flush,
            Poll::Pending => return Ok(Some(Waiting::Answer)),
        }
        Ok(None)
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
        let progress = (self.scratch.outgoing.progress(), self.endpoint.received());
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

fn protocol(stage: Stage) -> ProxyError {
    ProxyError::upstream(stage, Replay::Never, Reason::UpstreamProtocol)
}
