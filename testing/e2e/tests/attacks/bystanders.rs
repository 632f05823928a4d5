//! Clients that only want to be served.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portcullis_e2e::http::Connection;

/// How many there are, and how long each thinks between an answer and its next request.
const CLIENTS: usize = 4;
const THOUGHT: Duration = Duration::from_millis(2);

/// Clients that ask, and note how long each answer takes.
pub(crate) struct Bystanders {
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Duration>>>,
}

impl Bystanders {
    pub(crate) fn start(address: SocketAddr) -> Bystanders {
        let over = Arc::new(AtomicBool::new(false));
        let clients = (0..CLIENTS).map(|_| {
            let over = Arc::clone(&over);
            thread::spawn(move || ask(address, &over))
        });
        Bystanders { clients: clients.collect(), over }
    }

    /// What 99 of 100 requests waited at most.
    pub(crate) fn end(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        let mut waits: Vec<Duration> = self
            .clients
            .into_iter()
            .flat_map(|client| client.join().expect("every request is answered"))
            .collect();
        waits.sort();
        waits[waits.len() * 99 / 100]
    }
}

fn ask(address: SocketAddr, over: &AtomicBool) -> Vec<Duration> {
    let mut connection = Connection::open(address).expect("there is a place for honest clients");
    let mut waits = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = connection.get("web.test", "/").expect("honest clients are answered");
        waits.push(asked.elapsed());
        assert_eq!((answer.status, answer.text().as_str()), (200, "short"));
        thread::sleep(THOUGHT);
    }
    waits
}
