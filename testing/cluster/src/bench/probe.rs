//! A client that asks all the time which backend a host leads to, over one connection.

use std::{
    io::{self, Read, Write},
    net::{SocketAddrV4, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A backend's letter.
    Letter(u8),
    /// Something else, or nothing.
    Wrong(String),
}

/// An answer that differs from the one before.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) said: Said,
    pub(super) at: Instant,
}

/// The client; it ends with this value.
#[derive(Debug)]
pub(super) struct Probe {
    ends: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
    pub(super) changes: mpsc::UnboundedReceiver<Change>,
}

impl Probe {
    pub(super) fn start(address: SocketAddrV4, host: &str) -> Self {
        let (changed, changes) = mpsc::unbounded_channel();
        let (ends, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut asking = Asking {
            address,
            request: format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n").into_bytes(),
            connection: None,
        };
        let (until, counter) = (Arc::clone(&ends), Arc::clone(&answers));
        let thread = thread::spawn(move || {
            let mut last = None;
            while !until.load(Ordering::Relaxed) {
                let said = asking.ask().unwrap_or_else(|error| Said::Wrong(error.to_string()));
                counter.fetch_add(1, Ordering::Relaxed);
                if last.as_ref() != Some(&said) {
                    last = Some(said.clone());
                    // Nobody listens any more when the measurement has ended.
                    let _ = changed.send(Change { said, at: Instant::now() });
                }
            }
        });
        Self { ends, answers, thread: Some(thread), changes }
    }

    /// How many answers there were.
    pub(super) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

struct Asking {
    address: SocketAddrV4,
    request: Vec<u8>,
    connection: Option<TcpStream>,
}

impl Asking {
    fn ask(&mut self) -> io::Result<Said> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        connection.write_all(&self.request)?;
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let read = connection.read(&mut piece)?;
            answer.extend_from_slice(piece.get(..read).unwrap_or_default());
            match answer.as_slice() {
                _ if read == 0 => return Ok(Said::Wrong("the connection ended".to_owned())),
                whole if !whole.starts_with(b"HTTP/1.1 200 ") => {
                    let line = whole.split(|byte| *byte == b'\r').next().unwrap_or_default();
                    return Ok(Said::Wrong(String::from_utf8_lossy(line).into_owned()));
                }
                [head @ .., letter] if head.ends_with(b"\r\n\r\n") => {
                    let said = Said::Letter(*letter);
                    self.connection = Some(connection);
                    return Ok(said);
                }
                _ => {}
            }
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let connection = TcpStream::connect_timeout(&self.address.into(), PATIENCE)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        Ok(connection)
    }
}
