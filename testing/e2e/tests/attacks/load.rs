//! Connections that do something at a pace.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often what is due is sent.
const TICK: Duration = Duration::from_millis(10);

/// What a connection does.
pub(crate) struct Client {
    /// Sent first.
    pub(crate) opening: Vec<u8>,
    /// The action of a number, which counts up on each connection.
    pub(crate) action: Box<dyn FnMut(u32) -> Vec<u8> + Send>,
    /// Whether it reads what it is sent.
    pub(crate) reads: bool,
}

/// A load of this many connections and actions a second, all of them together.
pub(crate) struct Load {
    pub(crate) client: fn() -> Client,
    pub(crate) connections: usize,
    pub(crate) rate: usize,
}

/// A load under way.
pub(crate) struct Running {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Load {
    /// Has all connections act from one thread, so that the load takes little of what it measures.
    pub(crate) fn start(&self, address: SocketAddr) -> Running {
        let over = Arc::new(AtomicBool::new(false));
        let mut clients: Vec<Acting> = (0..self.connections).map(|_| Acting::new((self.client)())).collect();
        let rate = self.rate;
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let (start, mut done) = (Instant::now(), 0);
            while !told.load(Ordering::Relaxed) {
                let due = usize::try_from(start.elapsed().as_millis()).unwrap() * rate / 1000;
                while done < due {
                    let place = done % clients.len();
                    // Each has its share of the tick at once, or a wide load would be all system calls.
                    let share = ((due - done) / clients.len()).max(1);
                    clients[place].act(address, share);
                    done += share;
                }
                clients.iter_mut().for_each(Acting::read);
                thread::sleep(TICK);
            }
        });
        Running { over, thread }
    }
}

impl Running {
    pub(crate) fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// A connection, opened when there is something to do, and again after the other side has ended it.
struct Acting {
    client: Client,
    stream: Option<TcpStream>,
    number: u32,
    /// What the other side has not taken yet.
    rest: Vec<u8>,
}

impl Acting {
    fn new(client: Client) -> Acting {
        Acting { client, stream: None, number: 0, rest: Vec::new() }
    }

    fn act(&mut self, address: SocketAddr, actions: usize) {
        if self.stream.is_none() {
            let Ok(stream) = TcpStream::connect(address) else { return };
            stream.set_nonblocking(true).unwrap();
            (self.stream, self.number, self.rest) = (Some(stream), 0, self.client.opening.clone());
        }
        // Who does not take what was sent is sent no more: the pace is the load's, and not the memory of this process.
        if self.rest.len() < 1 << 16 {
            for _ in 0..actions {
                self.rest.extend((self.client.action)(self.number));
                self.number += 1;
            }
        }
        let stream = self.stream.as_mut().unwrap();
        match stream.write(&self.rest) {
            Ok(length) => drop(self.rest.drain(..length)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.stream = None,
        }
    }

    fn read(&mut self) {
        if !self.client.reads {
            return;
        }
        let mut part = [0; 64 << 10];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut part) {
                Ok(1..) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                _ => {
                    let _ = stream.shutdown(Shutdown::Both);
                    self.stream = None;
                }
            }
        }
    }
}
