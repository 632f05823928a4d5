//! Connections that ask, check and go on for as long as the test lasts.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::versions::{Aspect, History};
use crate::world::{BACKENDS, HOST, World};

/// What the connections speak.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    /// HTTP/1.1 in clear.
    Http1,
    /// HTTP/2 over TLS.
    Http2OverTls,
}

/// Between an answer and the next request of a connection, so that the machine has room for the changes.
const PAUSE: Duration = Duration::from_millis(4);
/// Failures that are kept to be shown.
const SHOWN: usize = 10;

/// What the connections saw.
pub(crate) struct Seen {
    /// Right answers.
    pub(crate) answers: u64,
    /// The first wrong or missing ones.
    pub(crate) failures: Vec<String>,
}

struct Shared {
    history: Arc<History>,
    over: AtomicBool,
    answers: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Connections under load.
pub(crate) struct Load {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Answer {
    status: u16,
    route: Option<usize>,
    endpoint: Option<usize>,
}

impl Load {
    /// Opens the connections; returns once each has its first answer.
    pub(crate) fn start(
        protocol: Protocol,
        connections: usize,
        world: &World,
        history: Arc<History>,
    ) -> Load {
        let shared = Arc::new(Shared {
            history,
            over: AtomicBool::new(false),
            answers: AtomicU64::new(0),
            failures: Mutex::default(),
        });
        let address = match protocol {
            Protocol::Http1 => world.http(),
            Protocol::Http2OverTls => world.https(),
        };
        let tls = world.authority().client(&[b"h2"]);
        let all = Arc::clone(&shared);
        let (opened, first) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tasks: Vec<_> = (0..connections)
                    .map(|_| {
                        tokio::spawn(connection(
                            protocol,
                            address,
                            Arc::clone(&tls),
                            Arc::clone(&all),
                            opened.clone(),
                        ))
                    })
                    .collect();
                drop(opened);
                for task in tasks {
                    task.await.unwrap();
                }
            });
        });
        for _ in 0..connections {
            first.recv().expect("every connection opens");
        }
        Load { shared, thread }
    }

    /// Ends the load and says what was seen.
    pub(crate) fn stop(self) -> Seen {
        self.shared.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let failures = std::mem::take(&mut *self.shared.failures.lock().unwrap());
        Seen { answers: self.shared.answers.load(Ordering::Relaxed), failures }
    }
}

async fn connection(
    protocol: Protocol,
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    shared: Arc<Shared>,
    opened: std::sync::mpsc::Sender<()>,
) {
    let end = match protocol {
        Protocol::Http1 => http1(address, &shared, &opened).await,
        Protocol::Http2OverTls => http2(address, tls, &shared, &opened).await,
    };
    if let Err(cause) = end {
        shared.fail(format!("a connection ended: {cause}"));
    }
}

impl Shared {
    fn fail(&self, what: String) {
        let mut failures = self.failures.lock().unwrap();
        if failures.len() < SHOWN {
            failures.push(what);
        }
    }

    fn check(&self, answer: &Answer, asked: Instant) {
        let answered = Instant::now();
        let route = |version: usize| answer.route == Some(version);
        let endpoint = |version: usize| answer.endpoint == Some(version % BACKENDS);
        if answer.status != 200 {
            self.fail(format!("status {}", answer.status));
        } else if let Some(fault) = self.history.fault(Aspect::Route, route, asked, answered) {
            self.fail(fault);
        } else if let Some(fault) = self.history.fault(Aspect::Endpoint, endpoint, asked, answered) {
            self.fail(fault);
        } else {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

async fn http1(address: SocketAddr, shared: &Shared, opened: &std::sync::mpsc::Sender<()>) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let mut first = true;
    while !shared.is_over() {
        let asked = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let answer = read_answer(&mut stream).await?;
        shared.check(&answer, asked);
        if std::mem::take(&mut first) {
            let _ = opened.send(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut text = Vec::new();
    loop {
        if stream.read_buf(&mut text).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the proxy"));
        }
        let seen = String::from_utf8_lossy(&text);
        let Some((head, body)) = seen.split_once("\r\n\r\n") else { continue };
        let value = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let length: usize = value("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if body.len() >= length {
            return Ok(Answer {
                status: head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0),
                route: value("x-route").and_then(|version| version.parse().ok()),
                endpoint: body.parse().ok(),
            });
        }
    }
}

async fn http2(
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    shared: &Shared,
    opened: &std::sync::mpsc::Sender<()>,
) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
    let stream = TlsConnector::from(tls).connect(name, stream).await?;
    let (mut client, connection) = h2::client::handshake(stream).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let mut first = true;
    while !shared.is_over() {
        let asked = Instant::now();
        client = client.ready().await.map_err(io::Error::other)?;
        let answer = ask_http2(&mut client).await.map_err(io::Error::other)?;
        shared.check(&answer, asked);
        if std::mem::take(&mut first) {
            let _ = opened.send(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn ask_http2(client: &mut h2::client::SendRequest<Bytes>) -> Result<Answer, h2::Error> {
    let request = http::Request::get(format!("https://{HOST}/")).body(()).expect("it is a request");
    let (answer, _) = client.send_request(request, true)?;
    let answer = answer.await?;
    let (head, mut body) = answer.into_parts();
    let mut text = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        let _ = body.flow_control().release_capacity(part.len());
        text.extend_from_slice(&part);
    }
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse().ok();
    Ok(Answer {
        status: head.status.as_u16(),
        route: head.headers.get("x-route").and_then(|value| number(value.as_bytes())),
        endpoint: number(&text),
    })
}
