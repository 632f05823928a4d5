//! Certificates of listeners, in their Secrets.

use std::{sync::Arc, time::Duration, time::Instant};

use rcgen::{CertifiedKey, KeyPair};
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::{Resumption, WantsClientCert},
    pki_types::{PrivateKeyDer, ServerName},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    site::{SITE, route},
    stage::{PATIENCE, Stage, eventually},
};

/// How soon a new certificate is shown.
const SOON: Duration = Duration::from_secs(2);

/// A certificate, its key, and who trusts no other.
pub(crate) struct Tls {
    host: String,
    certificate: String,
    key: String,
    roots: Arc<RootCertStore>,
    connector: TlsConnector,
}

impl Tls {
    /// A new one for a host.
    pub(crate) fn of(host: &str) -> Self {
        let certified = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone()).unwrap();
        let roots = Arc::new(roots);
        Self {
            host: host.to_owned(),
            certificate: certified.cert.pem(),
            key: certified.signing_key.serialize_pem(),
            connector: connector(client(&roots).with_no_client_auth()),
            roots,
        }
    }

    /// The same, to a client that has a certificate of its own.
    pub(crate) fn with_client(&self, identity: &CertifiedKey<KeyPair>) -> Self {
        let key = PrivateKeyDer::try_from(identity.signing_key.serialize_der()).unwrap();
        let chain = vec![identity.cert.der().clone()];
        let config = client(&self.roots).with_client_auth_cert(chain, key).unwrap();
        Self {
            host: self.host.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            roots: Arc::clone(&self.roots),
            connector: connector(config),
        }
    }

    /// A connection to port 443 of an address, where this certificate is shown.
    pub(crate) async fn shown(&self, address: &str) -> Result<TlsStream<TcpStream>, String> {
        let connect = async {
            let stream = TcpStream::connect((address, 443)).await?;
            let name = ServerName::try_from(self.host.clone()).unwrap();
            self.connector.connect(name, stream).await
        };
        match timeout(PATIENCE, connect).await {
            Ok(connected) => connected.map_err(|error| error.to_string()),
            Err(_) => Err("no handshake in time".to_owned()),
        }
    }
}

/// A client that trusts these alone.
fn client(roots: &Arc<RootCertStore>) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    config.unwrap().with_root_certificates(Arc::clone(roots))
}

fn connector(mut config: ClientConfig) -> TlsConnector {
    config.resumption = Resumption::disabled(); // whoever resumes is shown nothing
    TlsConnector::from(Arc::new(config))
}

/// The Secret that holds a certificate.
pub(crate) fn secret(namespace: &str, name: &str, tls: &Tls) -> String {
    let indented = |pem: &str| pem.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "apiVersion: v1
kind: Secret
metadata: {{namespace: {namespace}, name: {name}}}
type: kubernetes.io/tls
stringData:
  tls.crt: |
{}  tls.key: |
{}",
        indented(&tls.certificate),
        indented(&tls.key)
    )
}

/// A Secret that is replaced is shown to new connections at once, and ends no old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_secret_is_shown_to_new_connections_and_ends_no_old_one() {
    let Some(mut stage) = Stage::start("certificates").await else { return };
    let address = stage.serve_site().await;
    let mut last = Tls::of("tls.example");
    stage.cluster.apply(&secret(SITE, "certificate", &last)).unwrap();
    stage.cluster.apply(&format!("{GATEWAY}---\n{}", route("tls", "tls.example"))).unwrap();
    stage.accepted(SITE, "tls").await;
    let mut connections = Vec::new();
    connections.push(eventually("the first is shown", async || last.shown(&address).await.ok()).await);
    for _ in 0..3 {
        let next = Tls::of("tls.example");
        stage.cluster.apply(&secret(SITE, "certificate", &next)).unwrap();
        let replaced = Instant::now();
        connections.push(eventually("the next is shown", async || next.shown(&address).await.ok()).await);
        eprintln!("shown after {:?}", replaced.elapsed());
        assert!(replaced.elapsed() <= SOON, "{:?}", replaced.elapsed());
        assert!(last.shown(&address).await.is_err(), "the last one is shown no more");
        for connection in &mut connections {
            assert_eq!(asked(connection).await, "HTTP/1.1 200 OK");
        }
        last = next;
    }
}

/// The first line of the answer to a request.
pub(crate) async fn asked(connection: &mut TlsStream<TcpStream>) -> String {
    connection.write_all(b"HEAD / HTTP/1.1\r\nHost: tls.example\r\n\r\n").await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, connection.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8_lossy(&head).lines().next().unwrap().to_owned()
}

const GATEWAY: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: web}
spec:
  gatewayClassName: portcullis
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: certificate}]}}
";
