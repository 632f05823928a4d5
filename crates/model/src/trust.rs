//! Whom certificates must come from, parsed and checked once.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Version;

use crate::Origin;

/// The CA certificates that one object holds: at least one, each of them well formed.
#[derive(Clone, PartialEq, Eq)]
pub struct CaBundle {
    origin: Origin,
    certificates: Vec<CaCertificate>,
}

/// One certificate of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CaCertificate {
    der: CertificateDer<'static>,
    /// Whether it may vouch for others (RFC 5280 §4.2.1.9). One that may not is trusted as itself alone.
    is_authority: bool,
    /// Seconds of the Unix epoch.
    valid: (i64, i64),
}

/// Why an object's CA certificates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaError {
    /// There is no PEM block of a certificate.
    #[error("holds no PEM certificate")]
    NoCertificate,
    /// A certificate does not parse.
    #[error("certificate {0} is malformed")]
    Malformed(usize),
}

impl CaBundle {
    /// Parses PEM certificates. One that is malformed spoils the whole: what it was to admit cannot be known.
    ///
    /// # Errors
    /// When there is none, or one is malformed.
    pub fn parse(origin: Origin, pem: &[u8]) -> Result<CaBundle, CaError> {
        let mut certificates = Vec::new();
        for item in CertificateDer::pem_slice_iter(pem) {
            let malformed = CaError::Malformed(certificates.len());
            let der = item.map_err(|_| malformed.clone())?;
            certificates.push(CaCertificate::parse(der).ok_or(malformed)?);
        }
        if certificates.is_empty() {
            return Err(CaError::NoCertificate);
        }
        Ok(CaBundle { origin, certificates })
    }

    /// The object it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl CaCertificate {
    fn parse(der: CertificateDer<'static>) -> Option<CaCertificate> {
        let (rest, parsed) = X509Certificate::from_der(&der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let validity = parsed.validity();
        let valid = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let constraints = parsed.basic_constraints().ok()?;
        // Certificates of version 1 have no extensions, and are what some old authorities are.
        let is_authority =
            constraints.map_or(parsed.version() == X509Version::V1, |constraints| constraints.value.ca);
        if is_authority {
            RootCertStore::empty().add(der.clone()).ok()?;
        }
        Some(CaCertificate { der, is_authority, valid })
    }
}

impl fmt::Debug for CaBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} certificates)", self.origin, self.certificates.len())
    }
}

/// CA certificates of one or more objects.
#[derive(Clone)]
pub struct CaSet {
    bundles: Vec<Arc<CaBundle>>,
    roots: Arc<RootCertStore>,
}

impl CaSet {
    /// The certificates of all these bundles; none without a bundle.
    #[must_use]
    pub fn new(bundles: Vec<Arc<CaBundle>>) -> Option<CaSet> {
        if bundles.is_empty() {
            return None;
        }
        let mut roots = RootCertStore::empty();
        let authorities = bundles.iter().flat_map(|bundle| &bundle.certificates).filter(|ca| ca.is_authority);
        roots.add_parsable_certificates(authorities.map(|ca| ca.der.clone()));
        Some(CaSet { bundles, roots: Arc::new(roots) })
    }

    /// The objects that it came from.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.bundles.iter().map(|bundle| bundle.origin())
    }

    /// Those that may vouch for others; perhaps none.
    #[must_use]
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// The certificates that may vouch for others, in order.
    pub fn authorities(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.certificates().filter(|ca| ca.is_authority).map(|ca| &ca.der)
    }

    /// Whether a certificate is, byte for byte, one of these, and valid at this second of the Unix epoch: it is
    /// trusted then whoever issued it.
    #[must_use]
    pub fn names_itself(&self, leaf: &[u8], now: i64) -> bool {
        let same = self.certificates().find(|ca| *ca.der == *leaf);
        same.is_some_and(|ca| (ca.valid.0..=ca.valid.1).contains(&now))
    }

    fn certificates(&self) -> impl Iterator<Item = &CaCertificate> {
        self.bundles.iter().flat_map(|bundle| &bundle.certificates)
    }
}

/// Two are equal when they admit the same, whatever object says so.
impl PartialEq for CaSet {
    fn eq(&self, other: &CaSet) -> bool {
        self.certificates().eq(other.certificates())
    }
}

impl Eq for CaSet {}

impl fmt::Debug for CaSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.bundles).finish()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    fn origin() -> Origin {
        Origin { kind: "ConfigMap".into(), namespace: "n".into(), name: "ca".into() }
    }

    fn certificate(is_ca: IsCa) -> rcgen::Certificate {
        let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        params.is_ca = is_ca;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap()
    }

    fn parse(pem: &str) -> Result<CaBundle, CaError> {
        CaBundle::parse(origin(), pem.as_bytes())
    }

    #[test]
    fn a_bundle_is_good_as_a_whole_or_not_at_all() {
        let good = certificate(IsCa::Ca(BasicConstraints::Unconstrained)).pem();
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(parse("").unwrap_err(), CaError::NoCertificate);
        assert_eq!(parse("no PEM at all").unwrap_err(), CaError::NoCertificate);
        assert_eq!(parse(broken).unwrap_err(), CaError::Malformed(0));
        assert_eq!(parse(&format!("{good}{broken}")).unwrap_err(), CaError::Malformed(1));
        assert_eq!(parse(&format!("text\n{good}{good}")).unwrap().certificates.len(), 2);
    }

    /// RFC 5280 §4.2.1.9: a certificate that is no authority must not vouch for others.
    #[test]
    fn a_leaf_names_itself_alone() {
        let leaf = certificate(IsCa::NoCa);
        let authority = certificate(IsCa::Ca(BasicConstraints::Unconstrained));
        let bundle = Arc::new(parse(&format!("{}{}", leaf.pem(), authority.pem())).unwrap());
        let set = CaSet::new(vec![bundle]).unwrap();
        assert_eq!(set.roots().len(), 1);
        assert_eq!(set.authorities().collect::<Vec<_>>(), [authority.der()]);
        assert!(set.names_itself(leaf.der(), 1_750_000_000));
        assert!(!set.names_itself(leaf.der(), i64::MAX), "no certificate is valid for ever");
        assert!(!set.names_itself(certificate(IsCa::NoCa).der(), 1_750_000_000));
        assert!(CaSet::new(Vec::new()).is_none());
    }
}
