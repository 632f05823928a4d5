//! The names of options and of their values.

use portcullis_model::{Alpn, CipherSuite, Curve, SignatureScheme, TlsVersion};

pub(super) const ALPN: &str = "alpn-protocols";
pub(super) const CIPHERS: &str = "ciphers";
pub(super) const CURVES: &str = "ecdhCurves";
pub(super) const MINIMUM: &str = "minimumVersion";
pub(super) const MAXIMUM: &str = "maximumVersion";
pub(super) const SIGNATURES: &str = "signatureAlgorithms";

/// Every option, without prefix.
pub(super) const OPTIONS: [&str; 6] = [ALPN, CIPHERS, CURVES, MINIMUM, MAXIMUM, SIGNATURES];

/// Those that mean something towards backends.
pub(super) const OPTIONS_FOR_BACKENDS: [&str; 5] = [CIPHERS, CURVES, MINIMUM, MAXIMUM, SIGNATURES];

/// A TLS version by name, with those that no engine of ours serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V1_0,
    V1_1,
    V1_2,
    V1_3,
}

impl Version {
    /// The nearest version that is served.
    pub(super) fn served(self) -> TlsVersion {
        if self == Version::V1_3 { TlsVersion::V1_3 } else { TlsVersion::V1_2 }
    }
}

pub(super) fn version(name: &str) -> Option<Version> {
    Some(match name {
        "TLSv1_0" => Version::V1_0,
        "TLSv1_1" => Version::V1_1,
        "TLSv1_2" => Version::V1_2,
        "TLSv1_3" => Version::V1_3,
        _ => return None,
    })
}

/// Values that have names.
pub(super) trait Known: Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];
    /// Names that mean something, though no engine of ours serves them.
    const LACKING: &'static [&'static str];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn lacking(name: &str) -> bool {
        Self::LACKING.contains(&name)
    }

    fn text(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

impl Known for Alpn {
    const NAMES: &'static [(&'static str, Alpn)] = &[("h2", Alpn::H2), ("http/1.1", Alpn::Http11)];
    const LACKING: &'static [&'static str] = &[];
}

impl Known for CipherSuite {
    const NAMES: &'static [(&'static str, CipherSuite)] = &[
        ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::EcdheEcdsaAes128GcmSha256),
        ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::EcdheRsaAes128GcmSha256),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::EcdheEcdsaChacha20Poly1305),
        ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::EcdheRsaChacha20Poly1305),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::EcdheEcdsaAes256GcmSha384),
        ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::EcdheRsaAes256GcmSha384),
    ];
    const LACKING: &'static [&'static str] = &[
        "ECDHE-ECDSA-AES128-SHA",
        "ECDHE-RSA-AES128-SHA",
        "AES128-GCM-SHA256",
        "AES128-SHA",
        "ECDHE-ECDSA-AES256-SHA",
        "ECDHE-RSA-AES256-SHA",
        "AES256-GCM-SHA384",
        "AES256-SHA",
    ];
}

impl Known for Curve {
    const NAMES: &'static [(&'static str, Curve)] = &[
        ("X25519MLKEM768", Curve::X25519MlKem768),
        ("X25519", Curve::X25519),
        ("P-256", Curve::P256),
        ("P-384", Curve::P384),
    ];
    const LACKING: &'static [&'static str] = &["P-521"];
}

impl Known for SignatureScheme {
    const NAMES: &'static [(&'static str, SignatureScheme)] = &[
        ("ecdsa_secp256r1_sha256", SignatureScheme::EcdsaSecp256r1Sha256),
        ("ecdsa_secp384r1_sha384", SignatureScheme::EcdsaSecp384r1Sha384),
        ("rsa_pss_rsae_sha256", SignatureScheme::RsaPssRsaeSha256),
        ("rsa_pss_rsae_sha384", SignatureScheme::RsaPssRsaeSha384),
        ("rsa_pss_rsae_sha512", SignatureScheme::RsaPssRsaeSha512),
        ("rsa_pkcs1_sha256", SignatureScheme::RsaPkcs1Sha256),
        ("rsa_pkcs1_sha384", SignatureScheme::RsaPkcs1Sha384),
        ("rsa_pkcs1_sha512", SignatureScheme::RsaPkcs1Sha512),
        ("ed25519", SignatureScheme::Ed25519),
    ];
    const LACKING: &'static [&'static str] = &["ecdsa_secp521r1_sha512", "ecdsa_sha1", "rsa_pkcs1_sha1"];
}
