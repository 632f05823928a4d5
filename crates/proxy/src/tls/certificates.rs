//! Choosing among the certificates of a listener.

use std::fmt;
use std::sync::Arc;

use portcullis_model::{Certificate, HostPattern, SignatureScheme as ModelScheme, TlsServer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};

/// The certificates of a listener in the order of its `certificateRefs`.
pub(super) struct Certificates(Vec<Presented>);

struct Presented {
    names: Vec<HostPattern>,
    key: Arc<CertifiedKey>,
}

impl Certificates {
    pub(super) fn new(server: &TlsServer) -> Certificates {
        let schemes: Arc<[SignatureScheme]> =
            server.options.signature_schemes.iter().map(|scheme| scheme_of(*scheme)).collect();
        let present = |certificate: &Arc<Certificate>| {
            let certified = certificate.certified_key();
            let key = Restricted { key: Arc::clone(&certified.key), schemes: Arc::clone(&schemes) };
            let mut key = CertifiedKey::new(certified.cert.clone(), Arc::new(key));
            key.ocsp.clone_from(&certified.ocsp);
            Presented { names: certificate.names().to_vec(), key: Arc::new(key) }
        };
        Certificates(server.certificates.iter().map(present).collect())
    }
}

impl ResolvesServerCert for Certificates {
    /// One that names the host, then one whose key the client can verify, then the first.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name().unwrap_or_default();
        let fits = |one: &&Presented| one.names.iter().any(|name| name.matches(host));
        let verifiable = |one: &&Presented| one.key.key.choose_scheme(hello.signature_schemes()).is_some();
        let able = || self.0.iter().filter(verifiable);
        let chosen = able().find(fits).or_else(|| able().next()).or_else(|| self.0.first());
        chosen.map(|one| Arc::clone(&one.key))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} certificates", self.0.len())
    }
}

/// A key that signs only with the listener's schemes, in the listener's order: rustls has no such setting.
struct Restricted {
    key: Arc<dyn SigningKey>,
    schemes: Arc<[SignatureScheme]>,
}

impl SigningKey for Restricted {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let common = self.schemes.iter().filter(|scheme| offered.contains(scheme));
        common.copied().find_map(|scheme| self.key.choose_scheme(&[scheme]))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}

impl fmt::Debug for Restricted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a signing key")
    }
}

/// As rustls names a scheme.
pub(crate) fn scheme_of(scheme: ModelScheme) -> SignatureScheme {
    use ModelScheme as From;
    use SignatureScheme as To;
    match scheme {
        From::EcdsaSecp256r1Sha256 => To::ECDSA_NISTP256_SHA256,
        From::EcdsaSecp384r1Sha384 => To::ECDSA_NISTP384_SHA384,
        From::RsaPssRsaeSha256 => To::RSA_PSS_SHA256,
        From::RsaPssRsaeSha384 => To::RSA_PSS_SHA384,
        From::RsaPssRsaeSha512 => To::RSA_PSS_SHA512,
        From::RsaPkcs1Sha256 => To::RSA_PKCS1_SHA256,
        From::RsaPkcs1Sha384 => To::RSA_PKCS1_SHA384,
        From::RsaPkcs1Sha512 => To::RSA_PKCS1_SHA512,
        From::Ed25519 => To::ED25519,
    }
}
