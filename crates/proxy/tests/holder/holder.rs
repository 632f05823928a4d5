//! Another process that holds connections, so that this one has the proxy's ends alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use portcullis_model::{
    BindAddress, HostPattern, Listener, ListenerFilters, ListenerId, ListenerProtocol, Model, Origin, Port,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Set in the other process.
const HOLD: &str = "PORTCULLIS_TEST_HOLD";

/// The other process. The test binary needs a test `hold_connections` that calls [`hold`].
pub(crate) struct Holder(Child);

impl Holder {
    pub(crate) fn start() -> Holder {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "hold_connections", "--nocapture"]).env(HOLD, "1");
        Holder(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Opens connections, `silent` or `asking` for something first, and waits until all are open.
    pub(crate) fn open(&mut self, address: SocketAddr, count: usize, how: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{address} {count} {how}").unwrap();
        let mut told = String::new();
        while !told.contains("all are held") {
            let mut buffer = [0; 256];
            let read = self.0.stdout.as_mut().unwrap().read(&mut buffer).unwrap();
            assert_ne!(read, 0, "{told}");
            told.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
    }

    /// Closes them and waits for the end of the process.
    pub(crate) fn close(mut self) {
        writeln!(self.0.stdin.take().unwrap()).unwrap();
        self.0.wait().unwrap();
    }
}

/// In the other process: does what it is told.
pub(crate) fn hold() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let (address, count): (SocketAddr, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    let connection = |_| {
        let mut connection = TcpStream::connect(address).unwrap();
        if words[2] == "asking" {
            connection.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") {
                let mut buffer = [0; 1024];
                let read = connection.read(&mut buffer).unwrap();
                assert_ne!(read, 0);
                answer.extend_from_slice(&buffer[..read]);
            }
        }
        connection
    };
    let held: Vec<TcpStream> = (0..count).map(connection).collect();
    println!("all are held");
    std::io::stdin().read_line(&mut line).unwrap();
    drop(held);
}

/// One HTTP listener without routes, which answers 404.
pub(crate) fn model() -> Arc<Model> {
    let gateway = Origin { kind: "Gateway".into(), namespace: "default".into(), name: "gateway".into() };
    let listener = Listener {
        id: ListenerId { gateway: gateway.clone(), owner: gateway, name: "http".into() },
        port: 80,
        hostname: HostPattern::Any,
        protocol: ListenerProtocol::Http,
        filters: ListenerFilters::default(),
        client_certificate: None,
        routes: Vec::new(),
        grpc_routes: Vec::new(),
    };
    let mut model = Model::default();
    let address = BindAddress::tcp(Ipv4Addr::LOCALHOST.into(), 0);
    model.ports.insert(address, Arc::new(Port { listeners: vec![Arc::new(listener)] }));
    Arc::new(model)
}
