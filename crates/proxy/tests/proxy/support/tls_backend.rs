//! Backends that speak TLS, a thread a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use portcullis_model::Certificate;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::{ServerConfig, ServerConnection};
use rustls::sign::SingleCertAndKey;
use rustls::{HandshakeKind, StreamOwned};

use super::PATIENCE;
use super::client::Client;
use super::tls::Authority;

/// A backend that answers every request, which has no body, with its name.
pub(crate) struct TlsBackend {
    pub(crate) address: SocketAddr,
    seen: Receiver<Result<Handshake, String>>,
}

/// What a backend saw of a handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) server_name: Option<String>,
    pub(crate) alpn: Option<Vec<u8>>,
    /// The client's leaf.
    pub(crate) client: Option<Vec<u8>>,
    pub(crate) resumed: bool,
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

impl TlsBackend {
    pub(crate) fn named(name: &'static str, certificate: &Certificate) -> TlsBackend {
        TlsBackend::with(config(certificate, None), answering(name))
    }

    /// A backend that demands a client certificate of an authority.
    pub(crate) fn guarded(name: &'static str, certificate: &Certificate, by: &Authority) -> TlsBackend {
        TlsBackend::with(config(certificate, Some(by)), answering(name))
    }

    /// Serves every connection by a script.
    pub(crate) fn with(
        config: ServerConfig,
        script: impl Fn(&mut Client<Stream>) + Send + Sync + 'static,
    ) -> TlsBackend {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (config, script) = (Arc::new(config), Arc::new(script));
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, script, sender) = (Arc::clone(&config), Arc::clone(&script), sender.clone());
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                std::thread::spawn(move || {
                    if let Some(stream) = handshake(config, stream, &sender) {
                        script(&mut Client::over(stream));
                    }
                });
            }
        });
        TlsBackend { address, seen }
    }

    /// The next handshake, which must have succeeded.
    pub(crate) fn handshake(&self) -> Handshake {
        self.seen.recv_timeout(PATIENCE).expect("a connection in time").expect("a handshake")
    }

    /// Why the next handshake failed.
    pub(crate) fn failure(&self) -> String {
        self.seen.recv_timeout(PATIENCE).expect("a connection in time").expect_err("no handshake")
    }

    /// Whether nobody connected whom nobody asked about.
    pub(crate) fn no_more_connections(&self) -> bool {
        self.seen.try_recv().is_err()
    }
}

fn answering(name: &'static str) -> impl Fn(&mut Client<Stream>) {
    move |client| {
        while request(client) {
            let len = name.len();
            client.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{name}"));
        }
    }
}

/// Whether another request came; its head is read.
pub(crate) fn request(client: &mut Client<Stream>) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match client.stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

pub(crate) fn config(certificate: &Certificate, clients: Option<&Authority>) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        Some(authority) => builder.with_client_cert_verifier(authority.client_verifier()),
        None => builder.with_no_client_auth(),
    };
    let shown = SingleCertAndKey::from((**certificate.certified_key()).clone());
    let mut config = builder.with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

fn handshake(
    config: Arc<ServerConfig>,
    mut stream: TcpStream,
    seen: &Sender<Result<Handshake, String>>,
) -> Option<Stream> {
    let mut connection = ServerConnection::new(config).unwrap();
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut stream) {
            let _ = stream.flush();
            let _ = seen.send(Err(error.to_string()));
            return None;
        }
    }
    let _ = seen.send(Ok(Handshake {
        server_name: connection.server_name().map(str::to_owned),
        alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
        client: connection.peer_certificates().map(|chain| chain[0].to_vec()),
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
    }));
    Some(StreamOwned::new(connection, stream))
}
