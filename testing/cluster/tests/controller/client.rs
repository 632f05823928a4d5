//! Clients of Gateways.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks for `http://HOST/PATH` at port 80 of an address; the status and the body, or why there is none.
pub(crate) async fn get(address: &str, host: &str, path: &str) -> Result<(u16, String), String> {
    get_with(address, host, path, "").await
}

/// The same with more lines of headers, each with its end.
pub(crate) async fn get_with(
    address: &str,
    host: &str,
    path: &str,
    headers: &str,
) -> Result<(u16, String), String> {
    let exchange = async {
        let mut stream = TcpStream::connect((address, 80)).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = match timeout(PATIENCE, exchange).await {
        Ok(answer) => answer.map_err(|error| error.to_string())?,
        Err(_) => return Err(format!("no answer within {PATIENCE:?}")),
    };
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    status.map(|status| (status, body)).ok_or_else(|| format!("no HTTP: {answer:?}"))
}

/// Somebody who asks for the same all the time, each time on a connection of its own.
pub(crate) struct Visitor {
    ends: Arc<AtomicBool>,
    right: Arc<AtomicU64>,
    visit: JoinHandle<Vec<String>>,
}

impl Visitor {
    /// Begins to ask for `http://HOST/` at an address.
    pub(crate) fn start(address: &str, host: &str) -> Self {
        let (ends, right) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (is_over, count) = (Arc::clone(&ends), Arc::clone(&right));
        let (address, host) = (address.to_owned(), host.to_owned());
        let visit = tokio::spawn(async move {
            let (start, mut wrong) = (Instant::now(), Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                match get(&address, &host, "/").await {
                    Ok((200, _)) => drop(count.fetch_add(1, Ordering::Relaxed)),
                    other => wrong.push(format!("after {:?}: {other:?}", start.elapsed())),
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            wrong
        });
        Self { ends, right, visit }
    }

    /// What was answered wrong so far, and how often it was answered right.
    pub(crate) async fn end(self) -> (Vec<String>, u64) {
        self.ends.store(true, Ordering::Relaxed);
        let wrong = self.visit.await.unwrap();
        (wrong, self.right.load(Ordering::Relaxed))
    }
}

/// A connection that is kept, to a backend that gives back what it gets.
pub(crate) struct Kept {
    stream: TcpStream,
}

impl Kept {
    /// A connection to a port of an address.
    pub(crate) async fn open(address: &str, port: u16) -> Result<Self, String> {
        let stream = TcpStream::connect((address, port)).await.map_err(|error| error.to_string())?;
        Ok(Self { stream })
    }

    /// A tunnel by way of `http://HOST/` at port 80 of an address.
    pub(crate) async fn upgrade(address: &str, host: &str) -> Result<Self, String> {
        let mut kept = Self::open(address, 80).await?;
        let request =
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
        kept.stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = timeout(PATIENCE, kept.stream.read_u8()).await.map_err(|_| "no answer".to_owned())?;
            head.push(byte.map_err(|error| error.to_string())?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.starts_with("HTTP/1.1 101 ") { Ok(kept) } else { Err(head) }
    }

    /// Sends a word, which must come back.
    pub(crate) async fn echo(&mut self, word: &str) -> Result<(), String> {
        let exchange = async {
            self.stream.write_all(word.as_bytes()).await?;
            let mut answer = vec![0; word.len()];
            self.stream.read_exact(&mut answer).await?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        match timeout(PATIENCE, exchange).await {
            Ok(Ok(answer)) if answer == word => Ok(()),
            Ok(Ok(answer)) => Err(format!("{word} came back as {answer}")),
            Ok(Err(error)) => Err(format!("{word}: {error}")),
            Err(_) => Err(format!("{word} did not come back within {PATIENCE:?}")),
        }
    }
}

/// Gives back what it gets at a port of an address, after an upgrade if it begins with one; returns the port.
pub(crate) async fn echoes(address: std::net::Ipv4Addr) -> u16 {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(give_back(stream));
        }
    });
    port
}

async fn give_back(mut stream: TcpStream) -> std::io::Result<()> {
    let mut heard = vec![0; 4096];
    loop {
        let read = stream.read(&mut heard).await?;
        match &heard[..read] {
            [] => return Ok(()),
            [b'G', b'E', b'T', ..] => {
                let answer =
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
                stream.write_all(answer.as_bytes()).await?;
            }
            said => stream.write_all(said).await?,
        }
    }
}
