//! TLS towards clients.

use std::sync::Arc;

use crate::{CaSet, Certificate};

/// How a listener ends TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServer {
    /// In the order of `certificateRefs`; never empty. Chosen by name, then by what the client can verify, then
    /// by order.
    pub certificates: Vec<Arc<Certificate>>,
    /// The rest.
    pub options: TlsOptions,
    /// Whom it lets in; nothing is everybody.
    pub clients: Option<Arc<ClientValidation>>,
}

/// How clients prove who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientValidation {
    /// What happens to those that do not.
    pub mode: ClientMode,
    /// Whom their certificates must come from.
    pub authorities: Arc<CaSet>,
}

/// What happens to clients without a valid certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientMode {
    /// They are refused.
    AllowValidOnly,
    /// They are served, and the backend decides: it is told of valid certificates alone.
    AllowInsecureFallback,
}

/// TLS settings of a listener; lists are in order of preference and, but for `alpn`, never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TlsOptions {
    /// Application protocols; none for a listener below HTTP that names none. With one of them, the others are
    /// refused even to clients without ALPN.
    pub alpn: Vec<Alpn>,
    /// Lowest version.
    pub min_version: TlsVersion,
    /// Highest version.
    pub max_version: TlsVersion,
    /// Suites of TLS 1.2; without effect on TLS 1.3.
    pub cipher_suites: Vec<CipherSuite>,
    /// Groups for the key exchange, our order before the client's.
    pub curves: Vec<Curve>,
    /// Schemes that the server signs with.
    pub signature_schemes: Vec<SignatureScheme>,
}

impl Default for TlsOptions {
    fn default() -> TlsOptions {
        use SignatureScheme::{
            EcdsaSecp256r1Sha256, EcdsaSecp384r1Sha384, Ed25519, RsaPkcs1Sha256, RsaPkcs1Sha384,
            RsaPkcs1Sha512, RsaPssRsaeSha256, RsaPssRsaeSha384, RsaPssRsaeSha512,
        };
        TlsOptions {
            alpn: vec![Alpn::H2, Alpn::Http11],
            min_version: TlsVersion::V1_2,
            max_version: TlsVersion::V1_3,
            cipher_suites: vec![
                CipherSuite::EcdheEcdsaAes128GcmSha256,
                CipherSuite::EcdheRsaAes128GcmSha256,
                CipherSuite::EcdheEcdsaChacha20Poly1305,
                CipherSuite::EcdheRsaChacha20Poly1305,
                CipherSuite::EcdheEcdsaAes256GcmSha384,
                CipherSuite::EcdheRsaAes256GcmSha384,
            ],
            curves: vec![Curve::X25519MlKem768, Curve::X25519, Curve::P256],
            signature_schemes: vec![
                EcdsaSecp256r1Sha256,
                RsaPssRsaeSha256,
                RsaPkcs1Sha256,
                EcdsaSecp384r1Sha384,
                RsaPssRsaeSha384,
                RsaPkcs1Sha384,
                RsaPssRsaeSha512,
                RsaPkcs1Sha512,
                Ed25519,
            ],
        }
    }
}

/// A version that engines serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    V1_2,
    /// TLS 1.3 (RFC 8446).
    V1_3,
}

/// An application protocol (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alpn {
    /// `h2`
    H2,
    /// `http/1.1`
    Http11,
}

/// A suite of TLS 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are OpenSSL's, spelled as Rust does")]
pub enum CipherSuite {
    EcdheEcdsaAes128GcmSha256,
    EcdheRsaAes128GcmSha256,
    EcdheEcdsaChacha20Poly1305,
    EcdheRsaChacha20Poly1305,
    EcdheEcdsaAes256GcmSha384,
    EcdheRsaAes256GcmSha384,
}

/// A group for the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Curve {
    /// X25519 with ML-KEM-768, against an attacker who keeps traffic for a quantum computer.
    X25519MlKem768,
    /// X25519 (RFC 7748)
    X25519,
    /// NIST P-256
    P256,
    /// NIST P-384
    P384,
}

/// A way to sign (RFC 8446 §4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are RFC 8446's, spelled as Rust does")]
pub enum SignatureScheme {
    EcdsaSecp256r1Sha256,
    EcdsaSecp384r1Sha384,
    RsaPssRsaeSha256,
    RsaPssRsaeSha384,
    RsaPssRsaeSha512,
    RsaPkcs1Sha256,
    RsaPkcs1Sha384,
    RsaPkcs1Sha512,
    Ed25519,
}
