//! What is spoken to a backend, by what it says of itself and by what the route speaks.

use portcullis_api::Kind;
use portcullis_api::backend::AppProtocol;
use portcullis_model::UpstreamProtocol;

/// What a route's requests are, which decides in what they can be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Speech {
    /// Any version of HTTP.
    Http,
    /// HTTP/2 alone: its trailers and streams are gRPC's.
    Grpc,
}

impl Speech {
    pub(super) fn of(route: Kind) -> Speech {
        if route == Kind::GrpcRoute { Speech::Grpc } else { Speech::Http }
    }

    /// Where a backend says nothing of the version.
    fn plain(self) -> UpstreamProtocol {
        match self {
            Speech::Http => UpstreamProtocol::Http1,
            Speech::Grpc => UpstreamProtocol::Http2,
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
    for app in list {
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
