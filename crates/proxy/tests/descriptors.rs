//! What happens when the process has no file descriptor left. A process of its own, for it lowers its limit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_model::{
    BindAddress, HostPattern, Listener, ListenerId, ListenerProtocol, Model, Origin, Port,
};
use portcullis_proxy::{Proxy, ProxyOptions};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Set in the other process.
const HOLD: &str = "PORTCULLIS_TEST_HOLD";
/// Descriptors of the proxy's process.
const LIMIT: u64 = 256;

/// In another process: opens more connections to the address it is told than the proxy can accept, says so, and holds
/// them until it is told again.
#[test]
fn hold_connections() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim().parse().unwrap();
    let held: Vec<TcpStream> = (0..LIMIT + 20).map(|_| TcpStream::connect(address).unwrap()).collect();
    println!("held {}", held.len());
    std::io::stdin().read_line(&mut line).unwrap();
}

fn model() -> Arc<Model> {
    let gateway = Origin { kind: "Gateway".into(), namespace: "default".into(), name: "gateway".into() };
    let listener = Listener {
        id: ListenerId { gateway: gateway.clone(), owner: gateway, name: "http".into() },
        port: 80,
        hostname: HostPattern::Any,
        protocol: ListenerProtocol::Http,
        routes: Vec::new(),
    };
    let mut model = Model::default();
    let address = BindAddress { ip: Ipv4Addr::LOCALHOST.into(), port: 0 };
    model.ports.insert(address, Arc::new(Port { listeners: vec![Arc::new(listener)] }));
    Arc::new(model)
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
    let mut holder = Command::new(std::env::current_exe().unwrap()) // first: it keeps the higher limit
        .args(["--exact", "hold_connections", "--nocapture"])
        .env(HOLD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stat = File::open("/proc/self/stat").unwrap(); // while there is a descriptor for it
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT / 2), maximum: Some(LIMIT) }).unwrap();
    let (proxy, reports) = Proxy::start(ProxyOptions { workers: 1, ..ProxyOptions::default() }).unwrap();
    proxy.apply(&model());
    let address = reports.recv_timeout(Duration::from_secs(10)).unwrap().result.unwrap();
    let mut orders = holder.stdin.take().unwrap();
    writeln!(orders, "{address}").unwrap();
    let mut told = String::new();
    let mut stdout = holder.stdout.take().unwrap();
    while !told.contains("held 276") {
        let mut buffer = [0; 256];
        let read = stdout.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "{told}");
        told.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    let began = Instant::now();
    while proxy.open_connections() <= LIMIT / 2 {
        assert!(began.elapsed() < Duration::from_secs(10), "the soft limit was not raised");
        std::thread::sleep(Duration::from_millis(5)); // accepting is not announced
    }
    let (before, since) = (ticks(&stat), Instant::now());
    std::thread::sleep(Duration::from_millis(500)); // what is measured is that nothing happens
    let busy = Duration::from_millis(10 * (ticks(&stat) - before));
    assert!(busy < since.elapsed() / 4, "spins: {busy:?}");
    writeln!(orders).unwrap();
    holder.wait().unwrap();
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
}
