//! Certificates made for a test, and a client over TLS.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use portcullis_model::{CaBundle, Certificate, ListenerProtocol, TlsOptions, TlsServer};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, SanType, SignatureAlgorithm,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConfig, ClientConnection, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::{RootCertStore, StreamOwned, SupportedProtocolVersion};
use rustls_pki_types::ServerName;

use super::PATIENCE;
use super::client::Client;
use super::model::origin;

/// An authority that a client trusts.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// What is shown behind each certificate that it issues: its own, if clients do not know it.
    chain: String,
    roots: Arc<RootCertStore>,
    pem: String,
    own: Arc<Certificate>,
}

/// A client's connection over TLS.
pub(crate) type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Authority::of(params)
    }

    /// A certificate that nobody has issued but itself, and that may issue none.
    pub(crate) fn self_signed(name: &str) -> Authority {
        Authority::of(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    fn of(params: CertificateParams) -> Authority {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        let own = parsed(&certificate.pem(), &key);
        let (issuer, chain) = (Issuer::new(params, key), String::new());
        Authority { issuer, chain, roots: Arc::new(roots), pem: certificate.pem(), own }
    }

    /// Another, which this one vouches for and which nobody knows.
    pub(crate) fn intermediate(&self) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let own = parsed(&certificate.pem(), &key);
        let (issuer, pem) = (Issuer::new(params, key), certificate.pem());
        Authority { issuer, chain: pem.clone(), roots: Arc::clone(&self.roots), pem, own }
    }

    /// Its own certificate.
    pub(crate) fn certificate(&self) -> &Certificate {
        &self.own
    }

    /// Its certificate, as an object holds it for others to trust.
    pub(crate) fn bundle(&self) -> Arc<CaBundle> {
        Arc::new(CaBundle::parse(origin("ConfigMap", "ca"), self.pem.as_bytes()).unwrap())
    }

    /// A verifier of clients to which it has issued certificates.
    pub(crate) fn client_verifier(&self) -> Arc<dyn ClientCertVerifier> {
        let provider = Arc::new(default_provider());
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&self.roots), provider).build().unwrap()
    }

    /// A verifier of servers to which it has issued certificates.
    pub(crate) fn server_verifier(&self) -> Arc<dyn ServerCertVerifier> {
        let provider = Arc::new(default_provider());
        WebPkiServerVerifier::builder_with_provider(Arc::clone(&self.roots), provider).build().unwrap()
    }

    /// A server's certificate for these names.
    pub(crate) fn server(&self, names: &[&str]) -> Arc<Certificate> {
        self.issue(names, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// A server's certificate for these names and URIs.
    pub(crate) fn server_with(&self, names: &[&str], uris: &[&str]) -> Arc<Certificate> {
        let mut params = params(names);
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        self.sign(&params, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// A certificate whose only name is its common name.
    pub(crate) fn server_called(&self, name: &str) -> Arc<Certificate> {
        let mut params = params(&[]);
        params.distinguished_name.push(DnType::CommonName, name);
        self.sign(&params, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// A client's certificate.
    pub(crate) fn client_certificate(&self, name: &str) -> Arc<Certificate> {
        let mut params = params(&[]);
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// A certificate for these names with a key of this kind.
    pub(crate) fn issue(&self, names: &[&str], kind: &'static SignatureAlgorithm) -> Arc<Certificate> {
        self.sign(&params(names), kind)
    }

    fn sign(&self, params: &CertificateParams, kind: &'static SignatureAlgorithm) -> Arc<Certificate> {
        let key = KeyPair::generate_for(kind).unwrap();
        let leaf = params.signed_by(&key, &self.issuer).unwrap().pem();
        parsed(&(leaf + &self.chain), &key)
    }

    /// A listener's TLS with an ECDSA certificate for these names.
    pub(crate) fn https(&self, names: &[&str]) -> ListenerProtocol {
        https(vec![self.issue(names, &rcgen::PKCS_ECDSA_P256_SHA256)], TlsOptions::default())
    }

    /// A client's settings, which offer these application protocols and resume nothing.
    pub(crate) fn client(&self, alpn: &[&str]) -> ClientConfig {
        let mut config = self.config(default_provider(), rustls::ALL_VERSIONS);
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }

    /// A client's settings, which show a certificate if there is one.
    pub(crate) fn client_showing(&self, alpn: &[&str], own: Option<&Certificate>) -> ClientConfig {
        let mut config = self.client(alpn);
        if let Some(own) = own {
            let shown = SingleCertAndKey::from((**own.certified_key()).clone());
            config.client_auth_cert_resolver = Arc::new(shown);
        }
        config
    }

    /// A client's settings with other cryptography.
    pub(crate) fn client_with(&self, provider: CryptoProvider) -> ClientConfig {
        self.config(provider, rustls::ALL_VERSIONS)
    }

    /// A client's settings with one version.
    pub(crate) fn client_for(&self, version: &'static SupportedProtocolVersion) -> ClientConfig {
        self.config(default_provider(), &[version])
    }

    fn config(
        &self,
        provider: CryptoProvider,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(Arc::clone(&self.roots)).with_no_client_auth();
        config.resumption = Resumption::disabled();
        config
    }

    /// A connection with a server name, as HTTP/1.1.
    pub(crate) fn connect(&self, address: SocketAddr, name: &str) -> io::Result<TlsClient> {
        connect(address, name, self.client(&["http/1.1"]))
    }
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>()).unwrap()
}

fn parsed(chain: &str, key: &KeyPair) -> Arc<Certificate> {
    let key = key.serialize_pem();
    Arc::new(Certificate::parse(origin("Secret", "tls"), chain.as_bytes(), key.as_bytes()).unwrap())
}

/// The same for HTTP/3 too.
pub(crate) fn http3(https: ListenerProtocol) -> ListenerProtocol {
    match https {
        ListenerProtocol::Https(server) => ListenerProtocol::Http3(server),
        other => other,
    }
}

pub(crate) fn https(certificates: Vec<Arc<Certificate>>, options: TlsOptions) -> ListenerProtocol {
    ListenerProtocol::Https(Some(Arc::new(TlsServer { certificates, options, clients: None })))
}

/// A connection whose handshake is complete.
pub(crate) fn connect(address: SocketAddr, name: &str, config: ClientConfig) -> io::Result<TlsClient> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = stream;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(Client::over(StreamOwned::new(connection, stream)))
}
