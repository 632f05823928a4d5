//! A client of HTTP/2, and frames by hand for what no client would send.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::PATIENCE;
use super::tls::Authority;

/// A connection to the proxy by prior knowledge.
pub(crate) struct Http2 {
    send: SendRequest<Bytes>,
    /// How the connection ended.
    pub(crate) ended: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Response<()>,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status().as_u16()
    }
}

/// Runs a test of HTTP/2.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE * 2, test).await.expect("in time") });
}

impl Http2 {
    pub(crate) async fn connect(address: SocketAddr) -> Http2 {
        Http2::over(TcpStream::connect(address).await.unwrap()).await
    }

    /// A connection over TLS, with a server name.
    pub(crate) async fn over_tls(address: SocketAddr, name: &str, authority: &Authority) -> Http2 {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let tls = TlsConnector::from(Arc::new(authority.client(&["h2"])));
        Http2::over(tls.connect(name, stream).await.unwrap()).await
    }

    async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Http2 {
        let (send, connection) = h2::client::handshake(stream).await.unwrap();
        Http2 { send, ended: tokio::spawn(connection) }
    }

    /// Begins a request.
    pub(crate) async fn begin(
        &mut self,
        request: Request<()>,
        ended: bool,
    ) -> (ResponseFuture, SendStream<Bytes>) {
        poll_fn(|cx| self.send.poll_ready(cx)).await.unwrap();
        self.send.send_request(request, ended).unwrap()
    }

    /// Whether another stream can be opened.
    pub(crate) fn ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        self.send.poll_ready(cx)
    }

    /// Whether the server has said that streams can become tunnels (RFC 8441).
    pub(crate) fn tunnels(&self) -> bool {
        self.send.is_extended_connect_protocol_enabled()
    }

    pub(crate) async fn send(&mut self, request: Request<()>) -> Result<Answer, h2::Error> {
        let (answer, _) = self.begin(request, true).await;
        whole(answer.await?).await
    }

    pub(crate) async fn get(&mut self, host: &str, path: &str) -> Answer {
        self.send(get(host, path)).await.unwrap()
    }
}

/// An extended CONNECT (RFC 8441).
pub(crate) fn websocket(path: &str) -> Request<()> {
    let mut request = Request::connect(format!("http://a{path}")).header("sec-websocket-version", "13");
    let protocol = h2::ext::Protocol::from_static("websocket");
    request.extensions_mut().unwrap().insert(protocol);
    request.body(()).unwrap()
}

pub(crate) fn get(host: &str, path: &str) -> Request<()> {
    Request::get(format!("http://{host}{path}")).body(()).unwrap()
}

/// Reads an answer to its end.
pub(crate) async fn whole(answer: Response<RecvStream>) -> Result<Answer, h2::Error> {
    let (parts, mut stream) = answer.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    let trailers = stream.trailers().await?;
    Ok(Answer { head: Response::from_parts(parts, ()), body: body.into(), trailers })
}

/// A frame: type, flags, stream, payload.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The preface and empty SETTINGS.
pub(crate) fn preface() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, b"")].concat()
}

/// A header block for GET / of host `a`, by the static table of HPACK.
pub(crate) const GET: &[u8] = b"\x82\x86\x84\x41\x01a";

/// The error code of the GOAWAY in what a connection said to its end; none if there is none.
pub(crate) fn goaway(mut bytes: &[u8]) -> Option<u32> {
    let mut code = None;
    while bytes.len() >= 9 {
        let len = usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]);
        if bytes[3] == 7 && bytes.len() >= 17 {
            code = Some(u32::from_be_bytes(bytes[13..17].try_into().unwrap()));
        }
        bytes = bytes.get(9 + len..).unwrap_or_default();
    }
    code
}

/// Everything that a connection says until it ends, while these bytes are sent to it.
pub(crate) fn shout(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let bytes = bytes.to_vec();
    let writing = std::thread::spawn(move || drop(writer.write_all(&bytes)));
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("still open"),
            Err(_) => break,
        }
    }
    writing.join().unwrap();
    heard
}

/// A connection of frames by hand.
pub(crate) struct Raw {
    stream: std::net::TcpStream,
    heard: Vec<u8>,
}

impl Raw {
    /// With these SETTINGS.
    pub(crate) fn connect(address: SocketAddr, settings: &[u8]) -> Raw {
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut raw = Raw { stream, heard: Vec::new() };
        raw.send(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, settings)].concat());
        raw
    }

    /// Sends bytes, unless the connection has ended.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Waits until everything sent so far was read, or the connection ends.
    pub(crate) fn ping(&mut self) {
        self.send(&frame(6, 0, 0, b"all read"));
        self.until(&frame(6, 1, 0, b"all read"));
    }

    /// Reads until these bytes were heard. False at the end of the connection.
    pub(crate) fn until(&mut self, bytes: &[u8]) -> bool {
        self.until_after(self.mark(), bytes)
    }

    /// How much was heard so far.
    pub(crate) fn mark(&self) -> usize {
        self.heard.len()
    }

    /// The same among what was heard after a mark.
    pub(crate) fn until_after(&mut self, from: usize, bytes: &[u8]) -> bool {
        let mut buffer = [0; 4096];
        while !self.heard[from..].windows(bytes.len()).any(|window| window == bytes) {
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("not in time"),
                Ok(0) | Err(_) => return false,
                Ok(read) => self.heard.extend_from_slice(&buffer[..read]),
            }
        }
        true
    }

    /// Everything that the connection has said, at its end.
    pub(crate) fn rest(mut self) -> Vec<u8> {
        let _ = self.stream.read_to_end(&mut self.heard); // a reset is an end, too
        self.heard
    }
}
