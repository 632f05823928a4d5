//! The admin endpoint: `/metrics`, `/endpoints`, `/readyz` and `/livez`, on a thread that serves no traffic.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use portcullis_http1::{
    ConnectionField, Framing, HeadLimits, Method, RequestHead, RequestParser, ResponseHead, Version,
    write_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{endpoints, exposition};
use crate::listen::inherited::Inherited;
use crate::proxy::StartError;
use crate::shared::{Phase, Shared};

/// How long a client of the admin endpoint may take for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Heads of requests to the admin endpoint are small.
const HEAD: HeadLimits = HeadLimits { block: 8 * 1024, fields: 64 };

/// The bound admin address.
pub(crate) struct AdminSocket {
    listener: std::net::TcpListener,
    local: SocketAddr,
}

impl AdminSocket {
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Another handle on the same socket.
    pub(crate) fn handle(&self) -> io::Result<std::net::TcpListener> {
        self.listener.try_clone()
    }
}

/// Binds the admin address, unless a socket of it is inherited.
pub(crate) fn bind(address: SocketAddr, inherited: &mut Inherited) -> Result<AdminSocket, StartError> {
    let mut bind = || {
        let listener = match inherited.take(address).pop() {
            Some(listener) => listener,
            None => std::net::TcpListener::bind(address)?,
        };
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        Ok(AdminSocket { listener, local })
    };
    bind().map_err(|error| StartError::Admin(address, error))
}

/// Serves until `closing` ends.
pub(crate) async fn serve(socket: AdminSocket, shared: Arc<Shared>, mut closing: oneshot::Receiver<()>) {
    let listener = match TcpListener::from_std(socket.listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "the admin endpoint cannot be served"),
    };
    loop {
        let accepted = tokio::select! {
            biased;
            _ = &mut closing => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    // A client that goes away, or takes too long, is no matter here.
                    let _ = tokio::time::timeout(PATIENCE, exchange(stream, &shared)).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the admin endpoint cannot accept");
                tokio::time::sleep(shared.options.limits.accept_pause).await;
            }
        }
    }
}

/// One request and its answer; then the connection ends.
async fn exchange(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut parser, mut head, mut input) = (RequestParser::new(HEAD), RequestHead::new(), Vec::new());
    let (status, content_type, body) = loop {
        match parser.parse(&input, &mut head) {
            Ok(Some(_)) => break answer(&head, shared),
            Ok(None) if stream.read_buf(&mut input).await? == 0 => return Ok(()),
            Ok(None) => {}
            Err(error) => break (error.status(), TEXT, format!("{error}\n")),
        }
    };
    let mut response = ResponseHead::new();
    response.start(Version::Http11, status);
    response.fields.push(b"content-type", content_type.as_bytes());
    let mut out = Vec::new();
    let framing = Framing::Length(body.len() as u64);
    write_response(&mut out, &response, framing, ConnectionField::Close, b"");
    if head.method() != Method::Head {
        out.extend_from_slice(body.as_bytes());
    }
    stream.write_all(&out).await?;
    stream.shutdown().await
}

/// Of words and of metrics (the text format of Prometheus).
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The status, type and body of an answer.
fn answer(head: &RequestHead, shared: &Shared) -> (u16, &'static str, String) {
    if !matches!(head.method(), Method::Get | Method::Head) {
        return (405, TEXT, "only GET and HEAD\n".into());
    }
    match head.path() {
        b"/livez" => (200, TEXT, "ok\n".into()),
        b"/readyz" => match shared.phase() {
            Phase::Starting => (503, TEXT, "no configuration yet\n".into()),
            Phase::Serving => (200, TEXT, "ok\n".into()),
            Phase::Leaving | Phase::Draining => (503, TEXT, "draining\n".into()),
        },
        b"/metrics" => (200, TEXT, exposition::render(shared)),
        b"/endpoints" => match serde_json::to_string(&endpoints::report(shared)) {
            Ok(report) => (200, "application/json", format!("{report}\n")),
            Err(error) => (500, TEXT, format!("{error}\n")),
        },
        _ => (404, TEXT, "/metrics, /endpoints, /readyz and /livez are here\n".into()),
    }
}
