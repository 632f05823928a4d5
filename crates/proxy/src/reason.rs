//! Why an exchange ended as it did: the reason codes of access log, metrics and debug header.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $code:literal,)*) => {
        /// A reason code. Its text is stable: users' alerts name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Reason::$variant => $code,)*
                }
            }
        }
    };
}

reasons! {
    /// The backend answered.
    Ok = "ok",
    /// A filter of the rule answered with a redirect.
    Redirect = "redirect",
    /// The CORS filter of the rule answered a preflight request.
    Preflight = "cors_preflight",
    /// The service that is asked whether a request may pass let it not.
    AuthDenied = "auth_denied",
    /// The service that is asked whether a request may pass did not answer.
    AuthFailed = "auth_failed",
    /// No listener of the port takes the host.
    NoListener = "no_listener",
    /// The listener has no rule for the request.
    NoRule = "no_rule",
    /// The connection's certificate belongs to another listener than the host's (421).
    Misdirected = "misdirected",
    /// The rule is invalid.
    RuleInvalid = "rule_invalid",
    /// A filter of the rule or of its listener cannot be run, or refers to what cannot be used.
    FilterUnresolved = "filter_unresolved",
    /// The chosen backend does not exist, may not be referred to, or cannot be spoken to.
    BackendInvalid = "backend_invalid",
    /// The chosen backend is guarded by something that cannot be enforced.
    BackendGuarded = "backend_guarded",
    /// The rule names no backend.
    NoBackends = "no_backends",
    /// All weights are zero.
    ZeroWeight = "zero_weight",
    /// The backend has no endpoint that takes requests.
    NoEndpoint = "no_endpoint",
    /// The endpoint may not be spoken to: it is the proxy's own admin address.
    EndpointForbidden = "endpoint_forbidden",
    /// The endpoint's name does not resolve.
    ResolveFailed = "resolve_failed",
    /// The endpoint refused the connection.
    ConnectRefused = "connect_refused",
    /// The endpoint did not take the connection in time.
    ConnectTimeout = "connect_timeout",
    /// The endpoint took nothing more of the request, and gave no answer, in time.
    SendTimeout = "send_timeout",
    /// The endpoint could not be reached.
    ConnectFailed = "connect_failed",
    /// The TLS handshake with the endpoint failed.
    UpstreamTls = "upstream_tls",
    /// The endpoint's certificate is not trusted, or not that of the backend.
    UpstreamCertificate = "upstream_certificate",
    /// Too many requests wait for the backend.
    UpstreamOverflow = "upstream_overflow",
    /// The endpoint said that it did not process the request, and would not take it anew.
    UpstreamRefused = "upstream_refused",
    /// The endpoint closed the connection before or within its answer.
    UpstreamReset = "upstream_reset",
    /// The endpoint's answer breaks HTTP.
    UpstreamProtocol = "upstream_protocol",
    /// The rule's `timeouts.request` ended.
    RequestTimeout = "request_timeout",
    /// The rule's `timeouts.backendRequest` ended.
    BackendTimeout = "backend_timeout",
    /// The client's request breaks HTTP.
    BadRequest = "bad_request",
    /// The request's head exceeds a limit.
    HeadTooLarge = "head_too_large",
    /// The request's body exceeds a limit.
    BodyTooLarge = "body_too_large",
    /// The client did not send its head or body in time.
    ClientTimeout = "client_timeout",
    /// Neither side of the connection or flow said anything for too long.
    Idle = "idle",
    /// The configuration leads the flow elsewhere.
    Rerouted = "rerouted",
    /// The port has as many UDP flows as it may.
    FlowLimit = "flow_limit",
    /// The client closed the connection or reset the stream.
    ClientClosed = "client_closed",
    /// An upgrade or expectation that is not taken.
    Unsupported = "unsupported",
    /// The port has as many connections as it may.
    ConnectionLimit = "connection_limit",
    /// The system has no file descriptor or memory left.
    OutOfDescriptors = "out_of_descriptors",
    /// The client's PROXY header is missing or malformed.
    ProxyHeader = "proxy_header",
    /// The client is not among the trusted proxies, and the port is for PROXY headers.
    UntrustedProxy = "untrusted_proxy",
    /// No listener takes the server name of the TLS handshake.
    UnknownServerName = "unknown_server_name",
    /// The listener has no usable certificate.
    NoCertificate = "no_certificate",
    /// The TLS handshake failed.
    TlsHandshake = "tls_handshake",
    /// The client showed no certificate that the listener trusts.
    ClientCertificate = "client_certificate",
    /// Too many streams of the HTTP/2 or 3 connection were reset.
    StreamResets = "stream_resets",
    /// The client broke HTTP/2 or flooded the connection.
    Http2Protocol = "http2_protocol",
    /// The client broke HTTP/3 or flooded the connection.
    Http3Protocol = "http3_protocol",
    /// The proxy ended before the exchange did.
    Shutdown = "shutdown",
    /// A fault of our own.
    Internal = "internal",
}

impl From<portcullis_model::FailureReason> for Reason {
    fn from(reason: portcullis_model::FailureReason) -> Reason {
        use portcullis_model::FailureReason as From;
        match reason {
            From::RuleInvalid => Reason::RuleInvalid,
            From::FilterUnresolved => Reason::FilterUnresolved,
            From::BackendInvalid => Reason::BackendInvalid,
            From::BackendGuarded => Reason::BackendGuarded,
            From::NoBackends => Reason::NoBackends,
            From::ZeroWeight => Reason::ZeroWeight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_snake_case() {
        let mut seen = std::collections::BTreeSet::new();
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            assert!(
                reason.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            );
            assert!(seen.insert(reason.as_str()));
        }
    }
}
