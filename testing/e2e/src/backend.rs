//! Backends that say who they are.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// An HTTP/1.1 server that answers every request with its own name, until dropped.
pub struct Backend {
    /// Where it listens.
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Backend {
    /// Starts one.
    #[must_use]
    pub fn named(name: &str) -> Backend {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let over = Arc::new(AtomicBool::new(false));
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
        let answer = Arc::from(answer.into_bytes());
        let ended = Arc::clone(&over);
        thread::spawn(move || accept(&listener, &answer, &ended));
        Backend { address, over }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // wakes the thread, which then ends
    }
}

fn accept(listener: &TcpListener, answer: &Arc<[u8]>, over: &AtomicBool) {
    while let Ok((stream, _)) = listener.accept() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let answer = Arc::clone(answer);
        thread::spawn(move || serve(stream, &answer));
    }
}

/// Answers as often as a head without a body ends; bodies are not this backend's subject.
fn serve(mut stream: TcpStream, answer: &[u8]) {
    let _ = stream.set_nodelay(true);
    let mut pending = Vec::new();
    let mut part = [0; 8 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut part) {
        pending.extend_from_slice(&part[..length]);
        while let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            pending.drain(..end + 4);
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}
