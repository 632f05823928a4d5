//! What the small server takes and gives.

use std::net::SocketAddr;

use portcullis_http1::{Fields, RequestHead};

/// A request, read to its end.
#[derive(Debug)]
pub(crate) struct Request {
    /// Its head.
    pub(crate) head: RequestHead,
    /// The beginning of its body.
    pub(crate) body: Vec<u8>,
    /// The length of its whole body.
    pub(crate) body_bytes: u64,
    /// Its trailers.
    pub(crate) trailers: Fields,
    /// Who sent it.
    pub(crate) remote: SocketAddr,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    /// Its status.
    pub(crate) status: u16,
    /// What its body is.
    pub(crate) content_type: &'static str,
    /// Its body.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A readable answer.
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: text.into().into_bytes() }
    }

    /// An answer in JSON, indented, with a line end.
    pub(crate) fn json(status: u16, value: &impl serde::Serialize) -> Self {
        let mut body = serde_json::to_vec_pretty(value).unwrap_or_default();
        body.push(b'\n');
        Self { status, content_type: "application/json", body }
    }
}
