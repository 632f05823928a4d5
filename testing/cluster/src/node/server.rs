//! The node's HTTPS endpoint, which the API server asks for `kubectl logs`.

use std::{convert::Infallible, io, net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

use super::logs::{Logs, Owner, Query, Ring};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No port can be had.
    #[error("the node's endpoint: {0}")]
    Bind(#[from] io::Error),
    /// No certificate can be made.
    #[error("the node's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate cannot be used.
    #[error("the node's TLS configuration: {0}")]
    Tls(#[from] rustls::Error),
}

/// A port of the node that is listened on.
pub(crate) struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Server {
    /// Binds a free port, under a certificate of its own: the API server asks for no other.
    pub(crate) async fn bind(host: Ipv4Addr) -> Result<Self, ServerError> {
        let listener = TcpListener::bind((host, 0)).await?;
        let certified = rcgen::generate_simple_self_signed([host.to_string()])?;
        let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], PrivateKeyDer::from(key))?;
        Ok(Self { listener, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Answers for as long as it is polled.
    pub(crate) async fn serve(self, logs: Arc<Logs>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(connection(stream, self.acceptor.clone(), Arc::clone(&logs)));
                }
                Err(error) => {
                    tracing::warn!(%error, "the node's endpoint cannot accept");
                    tokio::time::sleep(super::limits::RETRY).await;
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, logs: Arc<Logs>) {
    let stream = match acceptor.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "no TLS"),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri(), &logs);
        async move { Ok::<_, Infallible>(answer) }
    });
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a reader of logs has gone");
    }
}

/// Source: the kubelet's `/containerLogs/{namespace}/{pod}/{container}`, which the API server's `log`
/// subresource asks.
fn answer(method: &Method, uri: &http::Uri, logs: &Logs) -> Response<Body> {
    if uri.path() == "/healthz" {
        return text(StatusCode::OK, "ok");
    }
    let parts: Vec<&str> = uri.path().split('/').collect();
    let ["", "containerLogs", namespace, pod, container] = *parts else {
        return text(
            StatusCode::NOT_FOUND,
            "this node has /containerLogs/NAMESPACE/POD/CONTAINER and /healthz",
        );
    };
    if method != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "logs are read with GET");
    }
    let query = match Query::parse(uri.query().unwrap_or_default(), Timestamp::now()) {
        Ok(query) => query,
        Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let owner =
        Owner { namespace: namespace.to_owned(), pod: pod.to_owned(), container: container.to_owned() };
    match logs.find(&owner, query.previous) {
        Some(output) => lines(output.subscribe(), query),
        None => text(
            StatusCode::NOT_FOUND,
            format!("container {container:?} of pod {namespace}/{pod} has no such run"),
        ),
    }
}

fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed_unsync());
    *response.status_mut() = status;
    response
}

/// What is there, and, to a reader that follows, what comes until the run ends.
fn lines(mut output: watch::Receiver<Ring>, query: Query) -> Response<Body> {
    let (now, next) = {
        let ring = output.borrow_and_update();
        (query.select(&ring), ring.next_number())
    };
    if !query.follow {
        return Response::new(Full::new(now).boxed_unsync());
    }
    let now = stream::once(async { now });
    let chunks = now.chain(stream::unfold((output, query, next), following));
    Response::new(StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync())
}

/// The lines that have come since, once there are some; None when the run has ended.
async fn following(
    (mut output, query, next): (watch::Receiver<Ring>, Query, usize),
) -> Option<(Bytes, (watch::Receiver<Ring>, Query, usize))> {
    let news = output.wait_for(|ring| ring.next_number() > next || ring.has_ended()).await.ok()?;
    let (lines, now) = (query.render(news.from(next)), news.next_number());
    drop(news);
    (now > next).then_some((lines, (output, query, now)))
}
