//! What happens when the process has no file descriptor left, and what is logged of it. A process of its own, for
//! it lowers its limit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "holder/holder.rs"]
mod holder;

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portcullis_proxy::{Inherited, Proxy, ProxyOptions};
use rustix::process::{Resource, Rlimit, setrlimit};

use holder::Holder;

/// Descriptors of the proxy's process.
const LIMIT: u64 = 256;

/// Connections that the holder opens: more than the proxy can accept.
const HELD: usize = 276;

#[test]
fn hold_connections() {
    holder::hold();
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Logs from now on what all threads have to say.
    fn start() -> Log {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).init();
        log
    }

    fn lines_with(&self, text: &str) -> usize {
        String::from_utf8_lossy(&self.0.lock().unwrap()).lines().filter(|line| line.contains(text)).count()
    }
}

/// Processor time of this process, in clock ticks of 10 ms.
fn ticks(stat: &File) -> u64 {
    let mut text = [0; 1024];
    let read = stat.read_at(&mut text, 0).unwrap();
    let (_, fields) = std::str::from_utf8(&text[..read]).unwrap().rsplit_once(") ").unwrap();
    fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

#[test]
fn without_descriptors_accepting_pauses_and_goes_on_when_there_are_some() {
    let mut holder = Holder::start(); // first: it keeps the higher limit
    let stat = File::open("/proc/self/stat").unwrap(); // while there is a descriptor for it
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT / 2), maximum: Some(LIMIT) }).unwrap();
    let log = Log::start();
    let mut options = ProxyOptions { workers: 1, ..ProxyOptions::default() };
    options.limits.accept_pause = Duration::from_millis(20);
    let (proxy, reports) = Proxy::start(options, Inherited::default()).unwrap();
    proxy.apply(&holder::model());
    let address = reports.recv_timeout(Duration::from_secs(10)).unwrap().result.unwrap();
    holder.open(address, HELD, "silent");
    let began = Instant::now();
    while proxy.open_connections() <= LIMIT / 2 {
        assert!(began.elapsed() < Duration::from_secs(10), "the soft limit was not raised");
        std::thread::sleep(Duration::from_millis(5)); // accepting is not announced
    }
    let (before, since) = (ticks(&stat), Instant::now());
    std::thread::sleep(Duration::from_millis(500)); // what is measured is that nothing happens
    let busy = Duration::from_millis(10 * (ticks(&stat) - before));
    assert!(busy < since.elapsed() / 4, "spins: {busy:?}");
    let logged = || (log.lines_with("accepting pauses"), log.lines_with("accepting goes on"));
    assert_eq!(logged(), (1, 0), "one line for all pauses");
    holder.close();
    let mut client = loop {
        match TcpStream::connect(address) {
            Ok(client) => break client,
            Err(_) => assert!(since.elapsed() < Duration::from_secs(10), "no descriptor came back"),
        }
    };
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut status = [0; 12];
    client.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 404");
    while logged() != (1, 1) {
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", logged());
        std::thread::sleep(Duration::from_millis(5)); // it is logged when it has been so for a while
    }
}
