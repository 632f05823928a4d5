//! Backends that follow a script, a thread a connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::PATIENCE;
use super::client::Client;

/// A backend.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Receiver<String>,
}

/// A connection that a script serves.
pub(crate) struct Connection {
    client: Client,
    heads: Sender<String>,
    /// Which connection of the backend this is, from 0.
    pub(crate) number: usize,
}

impl Connection {
    /// The next request's head, or none at the end.
    pub(crate) fn request(&mut self) -> Option<String> {
        let mut byte = [0];
        if !matches!(self.client.stream.peek(&mut byte), Ok(1)) {
            return None;
        }
        let head = self.client.until("\r\n\r\n");
        let _ = self.heads.send(head.clone());
        Some(head)
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.client.stream.write_all(bytes.as_ref());
    }

    /// Answers with a body.
    pub(crate) fn answer(&mut self, body: &str) {
        self.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    }

    pub(crate) fn exactly(&mut self, len: usize) -> String {
        self.client.exactly(len)
    }

    pub(crate) fn exactly_bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.client.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub(crate) fn until(&mut self, end: &str) -> String {
        self.client.until(end)
    }

    /// Waits for the end of the connection, which must be a reset, and reads nothing.
    pub(crate) fn wait_for_end(&self) {
        super::eventually(|| self.client.stream.take_error().unwrap());
    }

    pub(crate) fn half_close(&self) {
        let _ = self.client.stream.shutdown(Shutdown::Write);
    }

    /// Everything to the end of the connection.
    pub(crate) fn rest(&mut self) -> String {
        self.client.rest()
    }
}

impl Backend {
    /// Serves every connection by a script.
    pub(crate) fn scripted(script: impl Fn(&mut Connection) + Send + Sync + 'static) -> Backend {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, script) = (Arc::clone(&connections), Arc::new(script));
        let (heads, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream: TcpStream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let mut connection =
                    Connection { client: Client::over(stream), heads: heads.clone(), number };
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(&mut connection));
            }
        });
        Backend { address, connections, heads: received }
    }

    /// Answers every request, which has no body, with its name.
    pub(crate) fn named(name: &'static str) -> Backend {
        Backend::scripted(move |connection| {
            while connection.request().is_some() {
                connection.answer(name);
            }
        })
    }

    /// Takes a request and never answers.
    pub(crate) fn silent() -> Backend {
        Backend::scripted(|connection| {
            connection.request();
            connection.rest();
        })
    }

    /// Answers a request with `late` once it is told to.
    pub(crate) fn late() -> (Backend, Sender<()>) {
        let (go, gone) = channel();
        let gone = Mutex::new(gone);
        let backend = Backend::scripted(move |connection| {
            connection.request();
            gone.lock().unwrap().recv().unwrap();
            connection.answer("late");
        });
        (backend, go)
    }

    /// The head of the next request that came.
    pub(crate) fn head(&self) -> String {
        self.heads.recv_timeout(PATIENCE).expect("a request in time")
    }

    /// Whether no request came that was not asked for.
    pub(crate) fn no_more_heads(&self) -> bool {
        self.heads.try_recv().is_err()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// An address at which nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap()
}

/// An address at which connecting takes for ever, as long as the sockets live: its queue is full.
pub(crate) fn full_backlog() -> (Vec<socket2::Socket>, SocketAddr) {
    let socket = || socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let listener = socket();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut sockets = vec![listener];
    for _ in 0..3 {
        let waiting = socket();
        waiting.set_nonblocking(true).unwrap();
        let _ = waiting.connect(&address); // it is still under way
        sockets.push(waiting);
    }
    (sockets, address.as_socket().unwrap())
}

/// The fields of a head with this name, in lower case, and their values.
pub(crate) fn fields(head: &str, name: &str) -> Vec<String> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    fields
        .filter(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}
