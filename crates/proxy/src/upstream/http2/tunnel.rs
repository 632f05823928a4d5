//! A stream of a shared connection that carries another protocol (RFC 8441).

use std::fmt;

use bytes::Bytes;
use h2::{RecvStream, SendStream};

use super::Place;
use crate::http2::Tunneled;

/// A stream that has become a tunnel to an endpoint. It keeps its place on the connection.
pub(crate) struct UpstreamTunnel {
    pub(in crate::upstream) stream: Tunneled,
    _place: Place,
}

impl UpstreamTunnel {
    /// `held` has come already.
    pub(crate) fn new(
        receive: RecvStream,
        send: SendStream<Bytes>,
        held: Bytes,
        place: Place,
    ) -> UpstreamTunnel {
        UpstreamTunnel { stream: Tunneled::new(receive, send, held), _place: place }
    }
}

impl fmt::Debug for UpstreamTunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamTunnel").finish_non_exhaustive()
    }
}
