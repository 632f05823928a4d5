//! What went wrong in an exchange: whose fault it is, where it happened, and whether trying again is safe.

use std::fmt;

use crate::reason::Reason;

/// A failed exchange.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{source_of_fault} {stage}: {}", reason.as_str())]
pub(crate) struct ProxyError {
    pub(crate) source_of_fault: Source,
    pub(crate) stage: Stage,
    pub(crate) replay: Replay,
    pub(crate) reason: Reason,
    /// With which code the endpoint reset its HTTP/2 stream, if it did.
    pub(crate) code: Option<h2::Reason>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Downstream,
    Upstream,
    Configuration,
    Internal,
}

/// Where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    ReceiveHead,
    ReceiveBody,
    Route,
    Connect,
    SendRequest,
    ReceiveAnswer,
    RelayAnswer,
}

/// Whether the request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    /// Nothing of it reached a backend.
    NothingSent,
    /// The backend said that it did not process it (RFC 9113 §8.7).
    Unprocessed,
    /// It was sent on a reused connection, which closed without a byte of an answer: a bodiless idempotent request
    /// may be sent once more (RFC 9112 §9.3.1).
    ReusedClosed,
    /// It may have been processed.
    Never,
}

impl ProxyError {
    pub(crate) const fn downstream(stage: Stage, reason: Reason) -> ProxyError {
        ProxyError { source_of_fault: Source::Downstream, stage, replay: Replay::Never, reason, code: None }
    }

    pub(crate) const fn upstream(stage: Stage, replay: Replay, reason: Reason) -> ProxyError {
        ProxyError { source_of_fault: Source::Upstream, stage, replay, reason, code: None }
    }

    pub(crate) const fn configuration(reason: Reason) -> ProxyError {
        ProxyError {
            source_of_fault: Source::Configuration,
            stage: Stage::Route,
            replay: Replay::Never,
            reason,
            code: None,
        }
    }

    pub(crate) const fn internal(stage: Stage) -> ProxyError {
        ProxyError {
            source_of_fault: Source::Internal,
            stage,
            replay: Replay::Never,
            reason: Reason::Internal,
            code: None,
        }
    }

    /// Whether the client is to blame: it broke the protocol, or ended what it had begun.
    pub(crate) const fn is_the_clients(&self) -> bool {
        matches!(self.source_of_fault, Source::Downstream)
    }

    /// Whether it tells that the endpoint cannot be spoken to: no connection can be had, or one ends without an answer
    /// to what was sent on it. What an endpoint says, be it that it will not, is its answer; what took too long says
    /// nothing of the endpoint, for it may be the work; and an old connection may end at any time.
    pub(crate) const fn is_the_endpoints(&self) -> bool {
        match self.stage {
            Stage::Connect => matches!(
                self.reason,
                Reason::ResolveFailed
                    | Reason::ConnectRefused
                    | Reason::ConnectTimeout
                    | Reason::ConnectFailed
                    | Reason::UpstreamTls
                    | Reason::UpstreamCertificate
                    | Reason::UpstreamProtocol
            ),
            Stage::ReceiveAnswer => {
                let unanswered = matches!(self.replay, Replay::Never) && self.code.is_none();
                unanswered && matches!(self.reason, Reason::UpstreamReset)
            }
            _ => false,
        }
    }

    /// The status with which we answer, while nothing of another answer has been sent.
    pub(crate) const fn status(&self) -> u16 {
        match self.reason {
            Reason::BadRequest | Reason::ProxyHeader => 400,
            Reason::NoListener | Reason::NoRule => 404,
            Reason::ClientTimeout | Reason::ClientClosed => 408,
            Reason::BodyTooLarge => 413,
            Reason::Unsupported => 501,
            Reason::Misdirected => 421,
            Reason::HeadTooLarge => 431,
            Reason::UpstreamReset | Reason::UpstreamProtocol => 502,
            Reason::NoEndpoint
            | Reason::EndpointForbidden
            | Reason::ZeroWeight
            | Reason::ResolveFailed
            | Reason::ConnectRefused
            | Reason::ConnectFailed
            | Reason::UpstreamTls
            | Reason::UpstreamCertificate
            | Reason::UpstreamOverflow
            | Reason::UpstreamRefused => 503,
            Reason::ConnectTimeout
            | Reason::SendTimeout
            | Reason::RequestTimeout
            | Reason::BackendTimeout => 504,
            _ => 500,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Downstream => "client",
            Source::Upstream => "backend",
            Source::Configuration => "configuration",
            Source::Internal => "proxy",
        })
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::ReceiveHead => "while its request's head was read",
            Stage::ReceiveBody => "while its request's body was read",
            Stage::Route => "when the request was routed",
            Stage::Connect => "while it was connected to",
            Stage::SendRequest => "while the request was sent",
            Stage::ReceiveAnswer => "while its answer was awaited",
            Stage::RelayAnswer => "while the answer was relayed",
        })
    }
}
