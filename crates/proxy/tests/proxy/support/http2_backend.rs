//! Backends that speak HTTP/2, by prior knowledge or over TLS, with a runtime of their own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, Connection, SendResponse};
use http::{Request, Response};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A connection's bytes.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection.
pub(crate) type Http2Connection = Connection<Box<dyn Io>, Bytes>;

/// A backend.
pub(crate) struct Http2Backend {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    streams: Arc<AtomicUsize>,
}

/// A request as a handler gets it.
pub(crate) struct Asked {
    pub(crate) request: Request<RecvStream>,
    pub(crate) respond: SendResponse<Bytes>,
    /// Which connection and which stream of the backend this is, from 0.
    pub(crate) connection: usize,
    pub(crate) stream: usize,
}

impl Asked {
    /// Answers with a body.
    pub(crate) fn answer(mut self, body: impl Into<Bytes>) {
        let mut answer = self.respond.send_response(Response::new(()), false).unwrap();
        answer.send_data(body.into(), true).unwrap();
    }

    /// The whole body of the request.
    pub(crate) async fn body(&mut self) -> Vec<u8> {
        let mut whole = Vec::new();
        while let Some(data) = self.request.body_mut().data().await {
            let data = data.unwrap();
            self.request.body_mut().flow_control().release_capacity(data.len()).unwrap();
            whole.extend_from_slice(&data);
        }
        whole
    }
}

impl Http2Backend {
    /// Every request is handled in a task of its own.
    pub(crate) fn handling<F: Future<Output = ()> + Send + 'static>(
        settings: &Builder,
        handle: impl Fn(Asked) -> F + Clone + Send + 'static,
    ) -> Http2Backend {
        Http2Backend::serving(settings, None, move |connection, number, streams| {
            let handle = handle.clone();
            async move { requests(connection, number, &streams, handle).await }
        })
    }

    /// Answers every request over TLS with its name.
    pub(crate) fn over_tls(mut config: ServerConfig, name: &'static str) -> Http2Backend {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Http2Backend::handling_over_tls(config, move |asked| async move { asked.answer(name) })
    }

    /// Every request is handled in a task of its own, over TLS.
    pub(crate) fn handling_over_tls<F: Future<Output = ()> + Send + 'static>(
        config: ServerConfig,
        handle: impl Fn(Asked) -> F + Clone + Send + 'static,
    ) -> Http2Backend {
        Http2Backend::serving(&Builder::new(), Some(config), move |connection, number, streams| {
            let handle = handle.clone();
            async move { requests(connection, number, &streams, handle).await }
        })
    }

    /// Every connection is served in a task of its own.
    pub(crate) fn serving<F: Future<Output = ()> + Send + 'static>(
        settings: &Builder,
        tls: Option<ServerConfig>,
        serve: impl Fn(Http2Connection, usize, Arc<AtomicUsize>) -> F + Clone + Send + 'static,
    ) -> Http2Backend {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, streams) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let backend =
            Http2Backend { address, connections: Arc::clone(&connections), streams: Arc::clone(&streams) };
        let settings = settings.clone();
        let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let number = connections.fetch_add(1, Ordering::SeqCst);
                    let (settings, serve, streams) = (settings.clone(), serve.clone(), Arc::clone(&streams));
                    let tls = tls.clone();
                    tokio::spawn(async move {
                        let stream: Box<dyn Io> = match tls {
                            Some(tls) => Box::new(tls.accept(stream).await.unwrap()),
                            None => Box::new(stream),
                        };
                        if let Ok(connection) = settings.handshake(stream).await {
                            serve(connection, number, streams).await;
                        }
                    });
                }
            });
        });
        backend
    }

    /// Answers every request with its name.
    pub(crate) fn named(name: &'static str) -> Http2Backend {
        Http2Backend::handling(&Builder::new(), move |asked| async move { asked.answer(name) })
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many streams were opened.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }
}

/// Serves the requests of a connection to its end.
pub(crate) async fn requests<F: Future<Output = ()> + Send + 'static>(
    mut connection: Http2Connection,
    number: usize,
    streams: &AtomicUsize,
    handle: impl Fn(Asked) -> F,
) {
    while let Some(Ok((request, respond))) = connection.accept().await {
        let stream = streams.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(handle(Asked { request, respond, connection: number, stream }));
    }
}
