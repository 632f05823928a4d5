//! Certificates with their keys, parsed and checked once.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{HostPattern, Origin};

/// A certificate chain and the key of its leaf, which fit each other.
#[derive(Clone)]
pub struct Certificate {
    origin: Origin,
    key: Arc<CertifiedKey>,
    names: Vec<HostPattern>,
    not_after: i64,
}

/// Why a Secret's certificate cannot be served. No text here holds key material.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// There is no PEM block of a certificate.
    #[error("holds no PEM certificate")]
    NoCertificate,
    /// A certificate of the chain does not parse.
    #[error("certificate {0} of the chain is malformed")]
    MalformedCertificate(usize),
    /// There is no PEM block of a private key.
    #[error("holds no PEM private key")]
    NoKey,
    /// The key's kind is not one that we sign with.
    #[error("the private key is malformed or of a kind that is not supported")]
    UnsupportedKey,
    /// Leaf and key belong to different pairs.
    #[error("the private key does not belong to the leaf certificate")]
    KeyMismatch,
}

impl Certificate {
    /// Parses a PEM chain, leaf first, and the PEM key of its leaf.
    ///
    /// A certificate past its end is taken: refusing it would be an outage on top.
    ///
    /// # Errors
    /// When either is missing or malformed, or they do not fit.
    pub fn parse(origin: Origin, chain: &[u8], key: &[u8]) -> Result<Certificate, CertificateError> {
        let chain = parse_chain(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::NoKey)?;
        let signer = default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|_| CertificateError::UnsupportedKey)?;
        let mut names = Vec::new();
        let mut not_after = i64::MAX;
        for (index, der) in chain.iter().enumerate() {
            let (_, parsed) =
                X509Certificate::from_der(der).map_err(|_| CertificateError::MalformedCertificate(index))?;
            not_after = not_after.min(parsed.validity().not_after.timestamp());
            if index == 0 {
                names = dns_names(&parsed);
            }
        }
        let certified = CertifiedKey::new(chain, signer);
        match certified.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
            Err(_) => return Err(CertificateError::KeyMismatch),
        }
        Ok(Certificate { origin, key: Arc::new(certified), names, not_after })
    }

    /// The same with an OCSP response in DER (RFC 6960), which is shown to clients that ask for one. What is no whole DER
    /// sequence is left out: clients would end the handshake over it.
    #[must_use]
    pub fn with_staple(self, response: &[u8]) -> Certificate {
        if !is_sequence(response) {
            return self;
        }
        let mut key = (*self.key).clone();
        key.ocsp = Some(response.to_vec());
        Certificate { key: Arc::new(key), ..self }
    }

    /// The Secret it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Chain and signing key.
    #[must_use]
    pub fn certified_key(&self) -> &Arc<CertifiedKey> {
        &self.key
    }

    /// The DNS names of the leaf's subjectAltName; the common name is never a name.
    #[must_use]
    pub fn names(&self) -> &[HostPattern] {
        &self.names
    }

    /// The earliest end of the chain's certificates, in seconds of the Unix epoch.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        self.not_after
    }
}

/// Whether the bytes are one DER sequence from end to end (X.690 §8.1.3, §10.1).
fn is_sequence(der: &[u8]) -> bool {
    match der {
        [0x30, len, rest @ ..] if *len < 0x80 => rest.len() == usize::from(*len),
        [0x30, 0x81, len, rest @ ..] => rest.len() == usize::from(*len),
        [0x30, 0x82, high, low, rest @ ..] => rest.len() == usize::from(u16::from_be_bytes([*high, *low])),
        _ => false,
    }
}

fn parse_chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let mut chain = Vec::new();
    for item in CertificateDer::pem_slice_iter(pem) {
        chain.push(item.map_err(|_| CertificateError::MalformedCertificate(chain.len()))?);
    }
    if chain.is_empty() { Err(CertificateError::NoCertificate) } else { Ok(chain) }
}

fn dns_names(leaf: &X509Certificate<'_>) -> Vec<HostPattern> {
    let names = leaf.subject_alternative_name().ok().flatten();
    let names = names.into_iter().flat_map(|extension| extension.value.general_names.iter());
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(HostPattern::parse(name)),
            _ => None,
        })
        .filter(|pattern| *pattern != HostPattern::Any)
        .collect()
}

/// Two are equal when they come from the same object and present the same chain and OCSP response: the key follows from
/// the leaf.
impl PartialEq for Certificate {
    fn eq(&self, other: &Certificate) -> bool {
        let (own, others) = (&self.key, &other.key);
        self.origin == other.origin && own.cert == others.cert && own.ocsp == others.ocsp
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("origin", &self.origin)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staple_is_one_sequence_from_end_to_end() {
        let long = [&[0x30, 0x82, 0x01, 0x00][..], &[0; 256]].concat();
        let medium = [&[0x30, 0x81, 0x80][..], &[0; 128]].concat();
        for good in [&[0x30, 0x03, 1, 2, 3][..], &medium, &long] {
            assert!(is_sequence(good), "{good:?}");
        }
        for bad in [&b"-----BEGIN"[..], &[], &[0x30, 0x03, 1, 2], &[0x30, 0x02, 1, 2, 3], &long[..200]] {
            assert!(!is_sequence(bad), "{bad:?}");
        }
    }
}
