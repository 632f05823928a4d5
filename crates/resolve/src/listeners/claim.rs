//! What a listener claims for itself, and when two claims cannot both be met.

use portcullis_model::{HostPattern, Transport};

/// A protocol that we know. Whether it is served is up to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/2 in clear.
    Http,
    /// HTTP/1.1 and HTTP/2 over TLS.
    Https,
    /// TLS, ended here or passed through.
    Tls,
    /// Bare TCP.
    Tcp,
    /// Bare UDP.
    Udp,
    /// HTTPS and, on the same port, HTTP/3 over QUIC.
    Http3,
}

impl Protocol {
    /// The protocol of this name, if we know it.
    #[must_use]
    pub fn known(name: &str) -> Option<Protocol> {
        Some(match name {
            "HTTP" => Protocol::Http,
            "HTTPS" => Protocol::Https,
            "TLS" => Protocol::Tls,
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            "microgateway.airlock.com/http3" => Protocol::Http3,
            _ => return None,
        })
    }

    /// Whether listeners of the protocol are told apart by hostname (`Listener.hostname`).
    pub(crate) fn has_hostname(self) -> bool {
        !matches!(self, Protocol::Tcp | Protocol::Udp)
    }

    /// What is bound for the protocol.
    pub(crate) fn transports(self) -> &'static [Transport] {
        match (self.over_tcp().is_some(), self.over_udp()) {
            (true, true) => &[Transport::Tcp, Transport::Udp],
            (true, false) => &[Transport::Tcp],
            (false, _) => &[Transport::Udp],
        }
    }

    /// What is spoken over TCP, if anything is.
    fn over_tcp(self) -> Option<OverTcp> {
        match self {
            Protocol::Http => Some(OverTcp::Http),
            Protocol::Https | Protocol::Http3 => Some(OverTcp::Https),
            Protocol::Tls => Some(OverTcp::Tls),
            Protocol::Tcp => Some(OverTcp::Raw),
            Protocol::Udp => None,
        }
    }

    fn over_udp(self) -> bool {
        matches!(self, Protocol::Udp | Protocol::Http3)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OverTcp {
    Http,
    Https,
    Tls,
    Raw,
}

/// What a listener claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// [`HostPattern::Any`] for protocols that have no hostname.
    pub(crate) hostname: HostPattern,
}

/// Why two listeners are not distinct; the greater is reported when both hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Conflict {
    Hostname,
    Protocol,
}

/// What keeps two listeners of the same addresses from both being served, if anything.
///
/// Source: `Gateway.spec.listeners` field documentation, "Distinct Listeners"; GEP-2643 to 2645. HTTP and
/// HTTPS share a port, told apart by the first byte. UDP meets TCP-based protocols nowhere; http3 is HTTPS
/// towards the one and UDP towards the other.
pub(crate) fn conflict(one: &Claim, other: &Claim) -> Option<Conflict> {
    use OverTcp::{Http, Https, Raw, Tls};
    if one.port != other.port {
        return None;
    }
    match (one.protocol.over_tcp(), other.protocol.over_tcp()) {
        (None, _) | (_, None) => {
            let both = one.protocol.over_udp() && other.protocol.over_udp();
            both.then_some(Conflict::Protocol)
        }
        (Some(Raw), _) | (_, Some(Raw)) => Some(Conflict::Protocol),
        (Some(Http), Some(Tls)) | (Some(Tls), Some(Http)) => Some(Conflict::Protocol),
        (Some(Http), Some(Https)) | (Some(Https), Some(Http)) => None,
        (a, b) if one.hostname == other.hostname => {
            Some(if a == b { Conflict::Hostname } else { Conflict::Protocol })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of protocols, with equal and with different hostnames, as docs/semantics.md §2 has them.
    #[test]
    fn pairs_of_protocols() {
        use Protocol::{Http, Http3, Https, Tcp, Tls, Udp};
        const H: Option<Conflict> = Some(Conflict::Hostname);
        const P: Option<Conflict> = Some(Conflict::Protocol);
        let table = [
            // one, other, same hostname, different hostname
            (Http, Http, H, None),
            (Http, Https, None, None),
            (Http, Tls, P, P),
            (Http, Tcp, P, P),
            (Http, Udp, None, None),
            (Http, Http3, None, None),
            (Https, Https, H, None),
            (Https, Tls, P, None),
            (Https, Tcp, P, P),
            (Https, Udp, None, None),
            (Https, Http3, H, None),
            (Tls, Tls, H, None),
            (Tls, Tcp, P, P),
            (Tls, Udp, None, None),
            (Tls, Http3, P, None),
            (Tcp, Tcp, P, P),
            (Tcp, Udp, None, None),
            (Tcp, Http3, P, P),
            (Udp, Udp, P, P),
            (Udp, Http3, P, P),
            (Http3, Http3, H, None),
        ];
        let claim =
            |protocol, hostname| Claim { port: 443, protocol, hostname: HostPattern::parse(hostname) };
        for (one, other, same, different) in table {
            for (a, b) in [(one, other), (other, one)] {
                assert_eq!(conflict(&claim(a, "a.test"), &claim(b, "a.test")), same, "{a:?} {b:?}");
                assert_eq!(conflict(&claim(a, "a.test"), &claim(b, "*.test")), different, "{a:?} {b:?}");
                let elsewhere = Claim { port: 80, ..claim(b, "a.test") };
                assert_eq!(conflict(&claim(a, "a.test"), &elsewhere), None);
            }
        }
    }
}
