//! A proxy under test, scripted backends, and a client that speaks bytes.

pub(crate) mod backend;
pub(crate) mod client;
pub(crate) mod http2;
pub(crate) mod http2_backend;
pub(crate) mod http3;
pub(crate) mod model;
pub(crate) mod tls;
pub(crate) mod tls_backend;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use portcullis_model::{BindAddress, Model, Transport};
use portcullis_proxy::{Inherited, Limits, Proxy, ProxyHandle, ProxyOptions, Report};

pub(crate) use backend::{Backend, fields};
pub(crate) use client::Client;
pub(crate) use model::{Gateway, Rules};

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What comes to be in time, and is not announced.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        match look() {
            Some(found) => return found,
            None => assert!(std::time::Instant::now() < until, "it does not come to be"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The status and body of an answer of the admin address.
pub(crate) fn admin(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: admin\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

/// A running proxy.
pub(crate) struct Running {
    pub(crate) proxy: ProxyHandle,
    pub(crate) reports: Receiver<Report>,
    pub(crate) bound: Vec<(BindAddress, SocketAddr)>,
}

impl Running {
    /// With one worker, so that what a worker keeps is what the test sees, and with an admin address.
    pub(crate) fn options() -> ProxyOptions {
        let admin = Some(([127, 0, 0, 1], 0).into());
        ProxyOptions { workers: 1, admin, ..ProxyOptions::default() }
    }

    pub(crate) fn start(gateway: &Gateway) -> Running {
        Running::with(gateway, Running::options())
    }

    pub(crate) fn limited(gateway: &Gateway, limit: impl FnOnce(&mut Limits)) -> Running {
        let mut options = Running::options();
        limit(&mut options.limits);
        Running::with(gateway, options)
    }

    pub(crate) fn with(gateway: &Gateway, options: ProxyOptions) -> Running {
        let mut running = Running::idle(options);
        running.apply(&gateway.model());
        running
    }

    /// Without a configuration.
    pub(crate) fn idle(options: ProxyOptions) -> Running {
        let (proxy, reports) = Proxy::start(options, Inherited::default()).unwrap();
        Running { proxy, reports, bound: Vec::new() }
    }

    /// Applies a model and waits for the addresses that are new.
    pub(crate) fn apply(&mut self, model: &Arc<Model>) {
        let new = model.ports.keys().filter(|address| !self.bound.iter().any(|(bound, _)| bound == *address));
        let new = new.count();
        self.proxy.apply(model);
        for _ in 0..new {
            let report = self.reports.recv_timeout(PATIENCE).unwrap();
            self.bound.push((report.address, report.result.unwrap()));
        }
    }

    /// Where the first address accepts connections.
    pub(crate) fn address(&self) -> SocketAddr {
        self.bound[0].1
    }

    /// Where HTTP/3 is served.
    pub(crate) fn quic(&self) -> SocketAddr {
        self.bound.iter().find(|(bound, _)| bound.transport == Transport::Udp).unwrap().1
    }

    /// What `/metrics` says.
    pub(crate) fn metrics(&self) -> String {
        admin(self.proxy.admin().unwrap(), "/metrics").1
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// The answer to a request on a connection of its own.
    pub(crate) fn send(&self, request: &str) -> client::Answer {
        let mut client = self.client();
        client.send(request);
        client.answer()
    }
}
