//! A client of HTTP/3: another implementation of it (`h3`) for what is valid, and bytes on QUIC streams for the rest.

use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ConnectionError, Endpoint, ReadToEndError, VarInt};
use rustls::client::ClientConfig;
use tokio::runtime::Runtime;

use super::PATIENCE;

type Requests = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// How much of an answer the client takes without reading it, in bytes.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;

/// A connection.
pub(crate) struct Http3 {
    runtime: Runtime,
    pub(crate) endpoint: Endpoint,
    pub(crate) quic: quinn::Connection,
    requests: Requests,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A socket for a server of this family.
fn socket(server: SocketAddr) -> UdpSocket {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    UdpSocket::bind((any, 0)).unwrap()
}

/// A QUIC connection to a listener.
async fn quic(
    address: SocketAddr,
    name: &str,
    config: ClientConfig,
) -> Result<(Endpoint, quinn::Connection), ConnectionError> {
    let config = Arc::new(QuicClientConfig::try_from(config).unwrap());
    let endpoint =
        Endpoint::new(Default::default(), None, socket(address), Arc::new(quinn::TokioRuntime)).unwrap();
    let mut config = quinn::ClientConfig::new(config);
    let mut transport = quinn::TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(STREAM_WINDOW));
    transport.max_idle_timeout(Some(VarInt::from_u32(10_000).into()));
    transport.keep_alive_interval(Some(std::time::Duration::from_millis(20)));
    config.transport_config(Arc::new(transport));
    let connection = endpoint.connect_with(config, address, name).unwrap().await?;
    Ok((endpoint, connection))
}

impl Http3 {
    /// A connection whose handshake is complete on this side.
    pub(crate) fn connect(
        address: SocketAddr,
        name: &str,
        config: ClientConfig,
    ) -> Result<Http3, ConnectionError> {
        let runtime = runtime();
        let (endpoint, quic) = runtime.block_on(quic(address, name, config))?;
        let Ok((mut driver, requests)) =
            runtime.block_on(h3::client::new(h3_quinn::Connection::new(quic.clone())))
        else {
            return Err(runtime.block_on(quic.closed()));
        };
        runtime.spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        Ok(Http3 { runtime, endpoint, quic, requests })
    }

    /// The datagrams with which a client begins.
    pub(crate) fn hello(name: &str, config: ClientConfig) -> Vec<Vec<u8>> {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        server.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
        let address = server.local_addr().unwrap();
        let name = name.to_owned();
        std::thread::spawn(move || {
            let connecting =
                async { tokio::time::timeout(PATIENCE / 10, quic(address, &name, config)).await };
            drop(runtime().block_on(connecting));
        });
        let mut buffer = [0; 2048];
        let datagrams =
            std::iter::from_fn(|| server.recv(&mut buffer).ok().map(|read| buffer[..read].to_vec()));
        datagrams.take(2).collect() // one is too small for a post-quantum key share
    }

    /// A connection on which the client has said nothing of HTTP/3.
    pub(crate) fn bare(address: SocketAddr, name: &str, config: ClientConfig) -> Bare {
        let runtime = runtime();
        let (endpoint, quic) = runtime.block_on(quic(address, name, config)).unwrap();
        Bare { runtime, _endpoint: endpoint, quic }
    }

    /// The answer to a request with a body and trailers.
    pub(crate) fn exchange(
        &self,
        request: Request<()>,
        body: &[u8],
        trailers: Option<HeaderMap>,
    ) -> Result<Answer, h3::error::StreamError> {
        self.run(self.exchanged(request, body, trailers))
    }

    /// The same while the client's port changes again and again; and how often it did.
    pub(crate) fn exchange_moving(&self, request: Request<()>, body: &[u8]) -> (Answer, usize) {
        let moves = std::cell::Cell::new(0);
        let moving = async {
            loop {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                self.endpoint.rebind(socket(self.quic.remote_address())).unwrap();
                moves.set(moves.get() + 1);
            }
        };
        let answer = self.run(async {
            tokio::select! {
                answer = self.exchanged(request, body, None) => answer.unwrap(),
                () = moving => unreachable!(),
            }
        });
        (answer, moves.get())
    }

    fn exchanged(
        &self,
        request: Request<()>,
        body: &[u8],
        trailers: Option<HeaderMap>,
    ) -> impl Future<Output = Result<Answer, h3::error::StreamError>> + use<> {
        let mut requests = self.requests.clone();
        let body = Bytes::copy_from_slice(body);
        async move {
            let stream = requests.send_request(request).await?;
            let (mut send, mut receive) = stream.split();
            let sending = async move {
                for part in body.chunks(1 << 15) {
                    send.send_data(Bytes::copy_from_slice(part)).await?;
                }
                if let Some(trailers) = trailers {
                    send.send_trailers(trailers).await?;
                }
                send.finish().await
            };
            let receiving = async move {
                let answer: Response<()> = receive.recv_response().await?;
                let mut body = Vec::new();
                while let Some(mut data) = receive.recv_data().await? {
                    body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                }
                let trailers = receive.recv_trailers().await?;
                let (parts, ()) = answer.into_parts();
                Ok(Answer { status: parts.status.as_u16(), head: parts.headers, body, trailers })
            };
            let (sent, received) = tokio::join!(sending, receiving);
            let _: Result<(), h3::error::StreamError> = sent; // an answer may come before the request's end
            received
        }
    }

    pub(crate) fn get(&self, host: &str, path: &str) -> Answer {
        self.exchange(request("GET", host, path), b"", None).unwrap()
    }

    /// Sends bytes on a stream of their own, and its end; returns everything that is answered.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<Vec<u8>, ReadToEndError> {
        self.run(async {
            let (mut send, mut receive) = self.quic.open_bi().await.unwrap();
            send.write_all(bytes).await.unwrap();
            send.finish().unwrap();
            receive.read_to_end(1 << 20).await
        })
    }

    /// Sends bytes on a stream whose answer nobody reads.
    pub(crate) fn unread(&self, bytes: &[u8]) -> (quinn::SendStream, quinn::RecvStream) {
        self.run(async {
            let (mut send, receive) = self.quic.open_bi().await.unwrap();
            send.write_all(bytes).await.unwrap();
            send.finish().unwrap();
            (send, receive)
        })
    }

    /// Sends bytes on a stream of one direction, which stays open.
    pub(crate) fn one_way(&self, bytes: &[u8]) -> quinn::SendStream {
        self.run(one_way(&self.quic, bytes))
    }

    /// Goes on at another port, as behind a NAT that has forgotten it.
    pub(crate) fn rebind(&self) {
        let socket = socket(self.quic.remote_address());
        self.run(async { self.endpoint.rebind(socket).unwrap() });
    }

    /// Whether a ticket for this name allows requests before the handshake.
    pub(crate) fn allows_early_data(&self, address: SocketAddr, name: &str, config: ClientConfig) -> bool {
        let _entered = self.runtime.enter();
        let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()));
        self.endpoint.connect_with(config, address, name).unwrap().into_0rtt().is_ok()
    }

    /// Why the connection has ended.
    pub(crate) fn end(&self) -> ConnectionError {
        self.run(self.quic.closed())
    }

    /// The code with which the other side has closed the connection.
    pub(crate) fn closed_with(&self) -> u64 {
        code(&self.end())
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(in_time(future))
    }
}

/// Such a connection.
pub(crate) struct Bare {
    runtime: Runtime,
    _endpoint: Endpoint,
    quic: quinn::Connection,
}

impl Bare {
    /// As [`Http3::one_way`].
    pub(crate) fn one_way(&self, bytes: &[u8]) -> quinn::SendStream {
        self.runtime.block_on(one_way(&self.quic, bytes))
    }

    /// As [`Http3::closed_with`].
    pub(crate) fn closed_with(&self) -> u64 {
        code(&self.runtime.block_on(in_time(self.quic.closed())))
    }
}

async fn one_way(quic: &quinn::Connection, bytes: &[u8]) -> quinn::SendStream {
    let mut stream = quic.open_uni().await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

fn code(error: &ConnectionError) -> u64 {
    match error {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
        other => panic!("{other}"),
    }
}

async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

/// A request without fields.
pub(crate) fn request(method: &str, host: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("https://{host}{path}")).body(()).unwrap()
}

/// A frame.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    assert!(kind < 0x40);
    let mut frame = vec![kind];
    number(&mut frame, payload.len());
    frame.extend_from_slice(payload);
    frame
}

fn number(into: &mut Vec<u8>, number: usize) {
    into.extend((u32::try_from(number).unwrap() | 0x8000_0000).to_be_bytes());
}

/// A field section of literals that are not compressed (RFC 9204 §4.5.6).
pub(crate) fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        literal(&mut section, 0b0010_0000, 3, name);
        literal(&mut section, 0, 7, value);
    }
    section
}

fn literal(into: &mut Vec<u8>, high: u8, bits: u32, text: &str) {
    let most = (1 << bits) - 1;
    if text.len() < most {
        into.push(high | u8::try_from(text.len()).unwrap());
    } else {
        into.push(high | u8::try_from(most).unwrap());
        let mut rest = text.len() - most;
        while rest >= 0x80 {
            into.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        into.push(u8::try_from(rest).unwrap());
    }
    into.extend_from_slice(text.as_bytes());
}
