//! What is spoken to a backend, by what it says of itself and by what the route speaks.

use portcullis_api::Kind;
use portcullis_api::backend::AppProtocol;
use portcullis_model::{Transport, UpstreamProtocol};

/// What a route's requests are, if it has any, which decides in what they can be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Speech {
    /// Any version of HTTP.
    Http,
    /// HTTP/2 alone: its trailers and streams are gRPC's.
    Grpc,
    /// None: what comes over connections, as it is.
    Stream,
    /// None: the client's own TLS, to which nothing is added.
    PassedThrough,
    /// None: datagrams.
    Datagrams,
}

impl Speech {
    /// Of a kind of route; where TLS may be passed through, of connections on which it is ended.
    pub(super) fn of(route: Kind) -> Speech {
        match route {
            Kind::GrpcRoute => Speech::Grpc,
            Kind::TlsRoute | Kind::TcpRoute => Speech::Stream,
            Kind::UdpRoute => Speech::Datagrams,
            _ => Speech::Http,
        }
    }

    pub(super) fn transport(self) -> Transport {
        if self == Speech::Datagrams { Transport::Udp } else { Transport::Tcp }
    }

    /// Whether a policy or a `Backend` that demands TLS is heard.
    pub(super) fn is_guardable(self) -> bool {
        !matches!(self, Speech::PassedThrough | Speech::Datagrams)
    }

    /// Whether it matters what a backend says of itself.
    fn is_requests(self) -> bool {
        matches!(self, Speech::Http | Speech::Grpc)
    }

    /// Where a backend says nothing of the version.
    fn plain(self) -> UpstreamProtocol {
        match self {
            Speech::Http => UpstreamProtocol::Http1,
            Speech::Grpc => UpstreamProtocol::Http2,
            Speech::Stream => UpstreamProtocol::Tcp,
            Speech::PassedThrough => UpstreamProtocol::Tls,
            Speech::Datagrams => UpstreamProtocol::Udp,
        }
    }

    /// WebSocket is HTTP/1.1 until its upgrade.
    fn websocket(self) -> Option<UpstreamProtocol> {
        (self == Speech::Http).then_some(UpstreamProtocol::Http1)
    }
}

/// By the `appProtocol` of a Service's port; nothing if it cannot be spoken. That it is TLS is no
/// more than said: only a policy has it spoken, and without one such a port is not spoken to at all.
///
/// Source: KEP-3726 (`kubernetes.io/…`), IANA service names; `grpc` is what service meshes call it.
pub(super) fn of_service(app: &str, speech: Speech, over_tls: bool) -> Option<UpstreamProtocol> {
    if !speech.is_requests() {
        return Some(speech.plain());
    }
    match app.to_ascii_lowercase().as_str() {
        "" | "http" => Some(speech.plain()),
        "h2c" | "kubernetes.io/h2c" | "grpc" => Some(UpstreamProtocol::Http2),
        "https" if over_tls => Some(speech.plain()),
        "ws" | "kubernetes.io/ws" => speech.websocket(),
        "wss" | "kubernetes.io/wss" if over_tls => speech.websocket(),
        _ => None,
    }
}

/// By the `appProtocols` of a Backend, all of which must be spoken; the one that cannot be if there is one.
pub(super) fn of_backend(
    list: &[AppProtocol],
    speech: Speech,
    over_tls: bool,
) -> Result<UpstreamProtocol, &AppProtocol> {
    let mut spoken = speech.plain();
    for app in list.iter().filter(|_| speech.is_requests()) {
        spoken = match app {
            AppProtocol::H2c => Some(UpstreamProtocol::Http2),
            AppProtocol::Ws => speech.websocket(),
            AppProtocol::Wss if over_tls => speech.websocket(),
            AppProtocol::Wss | AppProtocol::Other(_) => None,
        }
        .ok_or(app)?;
    }
    Ok(spoken)
}
