//! TLS towards backends.

use std::sync::Arc;

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{CaSet, HostPattern, Hostname, Origin, TlsOptions};

/// How TLS is spoken to a backend, and how the backend proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamTls {
    /// The object that demands it.
    pub origin: Origin,
    /// The server name that is sent, and that the certificate must have unless `names` are given.
    pub hostname: Hostname,
    /// The names of which the certificate must have one, instead. A common name is never one.
    pub names: Vec<SubjectName>,
    /// Whom the certificate must come from.
    pub trust: Trust,
    /// Versions, suites, curves and signature schemes; the protocols offered are the route's business.
    pub options: TlsOptions,
}

/// Whom a backend's certificate must come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that the operating system trusts.
    System,
    /// These.
    Given(Arc<CaSet>),
}

/// A subject alternative name (RFC 5280 §4.2.1.6) that is expected of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectName {
    /// A DNS name. A wildcard is met by itself and by the names under it.
    Dns(HostPattern),
    /// A URI, such as a SPIFFE ID, compared byte by byte.
    Uri(Arc<str>),
}

impl SubjectName {
    /// Whether a certificate has the name. One that does not parse has none.
    #[must_use]
    pub fn is_of(&self, certificate: &[u8]) -> bool {
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
        let Ok(Some(names)) = parsed.subject_alternative_name() else { return false };
        names.value.general_names.iter().any(|name| match (self, name) {
            (SubjectName::Dns(expected), GeneralName::DNSName(name)) => meets(name, expected),
            (SubjectName::Uri(expected), GeneralName::URI(uri)) => **expected == **uri,
            _ => false,
        })
    }
}

/// Whether a certificate's DNS name meets an expected one. A certificate's wildcard is one label, the leftmost
/// (RFC 9525 §6.3).
fn meets(name: &str, expected: &HostPattern) -> bool {
    let name = HostPattern::parse(name);
    match (&name, expected) {
        (HostPattern::Any, _) | (_, HostPattern::Any) => false,
        (HostPattern::Exact(name), expected) => expected.matches(name.as_str()),
        (HostPattern::Suffix(suffix), HostPattern::Exact(host)) => {
            host.as_str().split_once('.').is_some_and(|(_, parent)| parent == suffix.as_str())
        }
        (HostPattern::Suffix(_), HostPattern::Suffix(_)) => name == *expected,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn certificate(dns: &[&str], uris: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "cn.test");
        let dns = dns.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap()));
        params.subject_alt_names = dns.chain(uris).collect();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn dns(name: &str) -> SubjectName {
        SubjectName::Dns(HostPattern::parse(name))
    }

    #[test]
    fn dns_names_are_met_as_certificates_mean_them() {
        let leaf = certificate(&["a.test", "*.b.test"], &[]);
        for met in ["a.test", "A.Test", "x.b.test", "*.b.test", "*.test"] {
            assert!(dns(met).is_of(&leaf), "{met}");
        }
        for unmet in ["b.test", "x.y.b.test", "x.a.test", "*.a.test", "cn.test"] {
            assert!(!dns(unmet).is_of(&leaf), "{unmet}");
        }
        assert!(!dns("cn.test").is_of(&certificate(&[], &[])), "a common name is never a name");
        assert!(!dns("a.test").is_of(b"no certificate"));
    }

    #[test]
    fn uris_are_compared_byte_by_byte() {
        let leaf = certificate(&["a.test"], &["spiffe://one.test/web"]);
        let uri = |uri: &str| SubjectName::Uri(uri.into());
        assert!(uri("spiffe://one.test/web").is_of(&leaf));
        assert!(!uri("spiffe://one.test/Web").is_of(&leaf));
        assert!(!uri("spiffe://one.test/").is_of(&leaf));
        assert!(!uri("a.test").is_of(&leaf));
    }
}
