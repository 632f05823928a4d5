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
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks for `http://HOST/PATH` at port 80 of an address; the status and the body, or why there is none.
pub(crate) async fn get(address: &str, host: &str, path: &str) -> Result<(u16, String), String> {
    let exchange = async {
        let mut stream = TcpStream::connect((address, 80)).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
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
