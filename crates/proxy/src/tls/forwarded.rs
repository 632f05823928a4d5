//! What backends are told of a client's certificate.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// An element of `x-forwarded-client-cert`: `Hash`, the SHA-256 of the certificate; `Subject`; and each `URI` and
/// `DNS` of its subjectAltName. The keys and their quoting are Envoy's, which backends know.
pub(super) fn element(leaf: &[u8]) -> Vec<u8> {
    let mut text = String::from("Hash=");
    for byte in Sha256::digest(leaf) {
        let _ = write!(text, "{byte:02x}"); // a String takes everything
    }
    let Ok((_, parsed)) = X509Certificate::from_der(leaf) else { return text.into_bytes() };
    let _ = write!(text, ";Subject=\"{}\"", escaped(&parsed.subject().to_string()));
    let names = parsed.subject_alternative_name().ok().flatten();
    for name in names.iter().flat_map(|extension| &extension.value.general_names) {
        let (key, value) = match name {
            GeneralName::URI(uri) => ("URI", uri),
            GeneralName::DNSName(name) => ("DNS", name),
            _ => continue,
        };
        let _ = match value.contains([',', ';', '=', '"']) {
            true => write!(text, ";{key}=\"{}\"", escaped(value)),
            false => write!(text, ";{key}={}", escaped(value)),
        };
    }
    text.into_bytes()
}

/// Quotes and backslashes are escaped; what is no visible ASCII is percent-encoded, as a field's value has to be.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => escaped.extend(['\\', char::from(byte)]),
            b' '..=b'~' => escaped.push(char::from(byte)),
            _ => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn an_element_is_one_line_whatever_the_certificate_says() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "a \"b\",\r\nX-Evil: 1 ü");
        params.subject_alt_names = vec![
            SanType::URI("spiffe://one.test/web".try_into().unwrap()),
            SanType::URI("x:a;b=c".try_into().unwrap()),
            SanType::DnsName("a.test".try_into().unwrap()),
        ];
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let text = String::from_utf8(element(certificate.der())).unwrap();
        let (hash, rest) = text.split_once(';').unwrap();
        assert_eq!(hash.len(), "Hash=".len() + 64);
        assert_eq!(
            rest,
            "Subject=\"CN=a \\\"b\\\",%0D%0AX-Evil: 1 %C3%BC\";\
             URI=spiffe://one.test/web;URI=\"x:a;b=c\";DNS=a.test"
        );
        assert_eq!(element(b"no certificate").len(), "Hash=".len() + 64);
    }
}
