//! A new process takes the listening sockets of the old one over, under load; and sockets come from a service manager.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use portcullis_e2e::http::Connection;
use portcullis_e2e::{Portcullis, http, manifests, ports, program};

/// As often the process is replaced.
const TAKEOVERS: usize = 20;

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Clients that ask all the time, half of them over connections that they keep as long as the answers let them.
struct Load {
    over: Arc<AtomicBool>,
    answers: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Result<(), String>>>,
}

impl Load {
    fn start(address: SocketAddr) -> Load {
        let (over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients = (0..6).map(|index| {
            let (over, answers) = (Arc::clone(&over), Arc::clone(&answers));
            thread::spawn(move || {
                let mut kept: Option<Connection<_>> = None;
                while !over.load(Ordering::Relaxed) {
                    let mut connection = match kept.take() {
                        Some(connection) => connection,
                        None => Connection::open(address).map_err(|error| format!("connecting: {error}"))?,
                    };
                    let answer =
                        connection.get("web.test", "/").map_err(|error| format!("asking: {error}"))?;
                    if answer.status != 200 {
                        return Err(format!("answered {}", answer.status));
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                    let closes = answer.header("connection").is_some_and(|value| value == "close");
                    kept = (index % 2 == 0 && !closes).then_some(connection);
                }
                Ok(())
            })
        });
        Load { clients: clients.collect(), over, answers }
    }

    fn wait_for_answers(&self, more: usize) {
        let wanted = self.answers.load(Ordering::Relaxed) + more;
        while self.answers.load(Ordering::Relaxed) < wanted {
            assert!(!self.clients.iter().any(JoinHandle::is_finished), "a client has failed");
            thread::yield_now();
        }
    }

    fn end(self) -> Vec<Result<(), String>> {
        self.over.store(true, Ordering::Relaxed);
        self.clients.into_iter().map(|client| client.join().unwrap()).collect()
    }
}

#[test]
fn twenty_takeovers_under_load_fail_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let (port, admin) = (ports::free(), loopback(ports::free()));
    let config = folder.path().join("all.yaml");
    fs::write(&config, manifests::served(port)).unwrap();
    let socket = folder.path().join("takeover.sock");
    // Another number of workers each time: no socket may be left without somebody who accepts at it.
    let start = |workers: usize| {
        let arguments = ["--echo", "--workers", &workers.to_string(), "--takeover", socket.to_str().unwrap()];
        Portcullis::run_at(admin, &config, arguments)
    };
    let mut running = start(2);
    let load = Load::start(loopback(port));
    for turn in 0..TAKEOVERS {
        load.wait_for_answers(50);
        let next = start(turn % 3 + 1);
        assert_eq!(running.wait(), Some(0), "the old process drains and ends by itself");
        running = next;
        assert_eq!(running.admin_get("/readyz").map(|answer| answer.status), Some(200));
    }
    load.wait_for_answers(50);
    assert_eq!(load.end(), vec![Ok(()); 6]);
}

/// A backend that says back what it is told.
fn udp_backend() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], client);
        }
    });
    address
}

/// A Gateway with a UDP listener, and the route from there to a backend.
fn udp(port: u16, backend: SocketAddr) -> String {
    let route = format!(
        "---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {{name: u}}
spec:
  parentRefs: [{{name: web}}]
  rules: [{{backendRefs: [{{name: u, port: 53}}]}}]
---
apiVersion: v1
kind: Service
metadata: {{name: u}}
spec: {{ports: [{{port: 53, protocol: UDP}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: u-1, labels: {{kubernetes.io/service-name: u}}}}
addressType: IPv4
ports: [{{port: {}, protocol: UDP}}]
endpoints: [{{addresses: [127.0.0.1]}}]
",
        backend.port()
    );
    manifests::gateway(&format!("{{name: udp, protocol: UDP, port: {port}}}")) + &route
}

/// Of UDP nobody is told to ask again: what a client says is answered, whoever receives it.
#[test]
fn takeovers_lose_no_datagram() {
    let folder = tempfile::tempdir().unwrap();
    let (port, admin) = (ports::free(), loopback(ports::free()));
    let config = folder.path().join("all.yaml");
    fs::write(&config, udp(port, udp_backend())).unwrap();
    let socket = folder.path().join("takeover.sock");
    let start = |workers: usize| {
        let arguments = ["--workers", &workers.to_string(), "--takeover", socket.to_str().unwrap()];
        Portcullis::run_at(admin, &config, arguments)
    };
    let mut running = start(2);
    let over = Arc::new(AtomicBool::new(false));
    let clients = (0..6).map(|_| {
        let over = Arc::clone(&over);
        thread::spawn(move || {
            let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            client.connect(loopback(port)).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut said = 0_u32;
            while !over.load(Ordering::Relaxed) {
                let mut answer = [0; 4];
                client.send(&said.to_be_bytes()).unwrap();
                let length = client.recv(&mut answer).unwrap_or_else(|error| panic!("{said}: {error}"));
                assert_eq!((length, answer), (4, said.to_be_bytes()));
                said += 1;
            }
            said
        })
    });
    let clients: Vec<_> = clients.collect();
    for turn in 0..5 {
        let next = start(turn % 3 + 1);
        assert_eq!(running.wait(), Some(0), "the old process drains and ends by itself");
        running = next;
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(client.join().unwrap() > 100, "there was no load");
    }
}

/// One that asks for the sockets and then ends takes nothing away.
#[test]
fn a_successor_that_does_not_serve_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    let (good, bad) = (folder.path().join("good.yaml"), folder.path().join("bad.yaml"));
    fs::write(&good, manifests::served(port)).unwrap();
    fs::write(&bad, "kind: [").unwrap();
    let socket = folder.path().join("takeover.sock");
    let arguments = ["--echo", "--takeover", socket.to_str().unwrap()];
    let running = Portcullis::run(&good, arguments);
    let run = |path: &Path, log: &str| {
        program::output(["run", path.to_str().unwrap(), arguments[1], arguments[2], "--access-log", log])
    };
    assert_eq!(run(&bad, "text").status.code(), Some(1));
    let no_log = run(&good, "text=/nowhere/log");
    let said = String::from_utf8_lossy(&no_log.stderr);
    assert!(
        said.contains("taking over") && said.contains("the access log /nowhere/log cannot be opened"),
        "{said}"
    );
    let mut stranger = UnixStream::connect(&socket).unwrap();
    stranger.write_all(b"?").unwrap();
    assert_eq!(stranger.read(&mut [0]).unwrap(), 0, "what speaks another protocol gets nothing");
    assert_eq!(http::get(loopback(port), "web.test", "/").unwrap().status, 200);
    let next = Portcullis::run(&good, arguments);
    assert_eq!(http::get(loopback(port), "web.test", "/").unwrap().status, 200);
    drop(running);
    assert_eq!(http::get(loopback(port), "web.test", "/").unwrap().status, 200);
    drop(next);
}

/// Sockets from a service manager are accepted at as they are, and it hears that the service is ready and when it stops.
#[test]
fn a_service_manager_gives_sockets_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let given = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = given.local_addr().unwrap().port();
    let config = folder.path().join("all.yaml");
    fs::write(&config, manifests::served(port)).unwrap();
    let manager = folder.path().join("notify.sock");
    let told = UnixDatagram::bind(&manager).unwrap();
    // A shell puts the socket where sd_listen_fds(3) wants it, and becomes the service.
    let script = format!(
        "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec '{}' run '{}' --echo --admin off --bind 127.0.0.1 \
         --drain-timeout 1s",
        program::binary().display(),
        config.display()
    );
    let socket = std::os::fd::OwnedFd::from(given.try_clone().unwrap());
    let mut service = Command::new("sh")
        .args(["-c", &script])
        .env("NOTIFY_SOCKET", &manager)
        .stdin(socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let hear = || {
        let mut text = [0; 256];
        let length = told.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    assert_eq!(hear(), format!("MAINPID={}\nREADY=1\n", service.id()));
    assert_eq!(http::get(loopback(port), "web.test", "/").unwrap().status, 200);
    assert!(Command::new("kill").args(["-TERM", &service.id().to_string()]).status().unwrap().success());
    assert_eq!(hear(), "STOPPING=1\n");
    assert_eq!(service.wait().unwrap().code(), Some(0));
}
