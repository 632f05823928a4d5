//! What is asked: a connection or a datagram as a client would begin with it.

use std::net::IpAddr;

use portcullis_model::{Locality, Transport};
use portcullis_routing::Authority;

use crate::explain::question::QuestionError;

/// How a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// With a TLS handshake.
    Tls,
    /// With anything, over TCP.
    Tcp,
    /// With a datagram.
    Udp,
}

impl Scheme {
    fn parse(name: &str) -> Option<Scheme> {
        Some(match name.to_ascii_lowercase().as_str() {
            "tls" => Scheme::Tls,
            "tcp" => Scheme::Tcp,
            "udp" => Scheme::Udp,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Scheme::Tls => "tls",
            Scheme::Tcp => "tcp",
            Scheme::Udp => "udp",
        }
    }

    pub(super) fn transport(self) -> Transport {
        match self {
            Scheme::Udp => Transport::Udp,
            Scheme::Tls | Scheme::Tcp => Transport::Tcp,
        }
    }

    pub(super) fn transport_name(self) -> &'static str {
        if self == Scheme::Udp { "UDP" } else { "TCP" }
    }
}

/// A connection or a datagram as a client would begin with it.
#[derive(Clone, Debug)]
pub(in crate::explain) struct Question {
    pub(super) scheme: Scheme,
    /// Whom the client connects to, and over TLS names in its handshake; in canonical form.
    pub(super) host: String,
    pub(super) port: u16,
    /// What the engine adds to every listener's port.
    pub(super) port_offset: u16,
    /// Where the proxy stands that is asked.
    pub(super) locality: Locality,
}

impl Question {
    /// The question of a URL `tls://HOST[:PORT]`, `tcp://HOST:PORT` or `udp://HOST:PORT`; none for other schemes.
    pub(in crate::explain) fn parse(url: &str) -> Option<Result<Question, QuestionError>> {
        let (scheme, rest) = url.split_once("://")?;
        Some(Question::new(Scheme::parse(scheme)?, rest.strip_suffix('/').unwrap_or(rest)))
    }

    fn new(scheme: Scheme, authority: &str) -> Result<Question, QuestionError> {
        let host = |message: &str| QuestionError::Host(message.to_owned());
        if authority.contains(['/', '?', '#', '@']) {
            return Err(host("a connection has no more than a host and a port"));
        }
        let server = Authority::parse(authority).map_err(|error| QuestionError::Host(error.to_string()))?;
        if server.host.is_empty() {
            return Err(host("it is missing"));
        }
        let port = server.port.or((scheme == Scheme::Tls).then_some(443));
        Ok(Question {
            scheme,
            port: port.ok_or_else(|| host("no port is usual there; write HOST:PORT"))?,
            host: server.host.into_owned(),
            port_offset: 0,
            locality: Locality::default(),
        })
    }

    /// The same to an engine that adds this to every listener's port, and stands there.
    #[must_use]
    pub(in crate::explain) fn at(self, port_offset: u16, locality: Locality) -> Question {
        Question { port_offset, locality, ..self }
    }

    /// What carries it.
    pub(in crate::explain) fn transport_name(&self) -> &'static str {
        self.scheme.transport_name()
    }

    /// The port that a listener has which the client reaches, if some may.
    pub(super) fn listener_port(&self) -> Option<u16> {
        self.port.checked_sub(self.port_offset)
    }

    /// The name that a TLS handshake carries: addresses are none (RFC 6066 §3).
    pub(super) fn server_name(&self) -> Option<&str> {
        (self.scheme == Scheme::Tls && self.server_address().is_none()).then_some(self.host.as_str())
    }

    /// The address that the URL names instead of a host.
    pub(super) fn server_address(&self) -> Option<IpAddr> {
        self.host.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }
}
