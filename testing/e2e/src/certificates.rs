//! Certificates made for a test.

use std::fmt::Write;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256,
    SignatureAlgorithm,
};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// A certificate authority of a test.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The certificate, in DER.
    pub der: CertificateDer<'static>,
}

impl Default for Authority {
    fn default() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Test Authority");
        let key = KeyPair::generate().expect("keys can be made");
        Authority { issuer: CertifiedIssuer::self_signed(params, key).expect("it signs itself") }
    }
}

impl Authority {
    /// A certificate for these names.
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Pair {
        self.issue_signing(names, &PKCS_ECDSA_P256_SHA256)
    }

    /// A certificate for these names, with a key that signs like this.
    #[must_use]
    pub fn issue_signing(&self, names: &[&str], algorithm: &'static SignatureAlgorithm) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("the names are valid");
        let key = KeyPair::generate_for(algorithm).expect("keys can be made");
        let certificate = params.signed_by(&key, &self.issuer).expect("it signs");
        Pair { certificate: certificate.pem(), key: key.serialize_pem(), der: certificate.der().clone() }
    }

    /// The authority's own certificate, in PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A client that trusts this authority alone and offers these protocols.
    #[must_use]
    pub fn client(&self, alpn: &[&[u8]]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("the authority parses");
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}

impl Pair {
    /// The Secret that a Gateway takes it from.
    #[must_use]
    pub fn secret(&self, name: &str) -> String {
        let mut text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ntype: kubernetes.io/tls\nstringData:\n"
        );
        for (key, value) in [("tls.crt", &self.certificate), ("tls.key", &self.key)] {
            let _ = writeln!(text, "  {key}: |");
            for line in value.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        text
    }
}
