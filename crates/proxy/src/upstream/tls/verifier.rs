//! How a backend proves who it is.

use std::sync::Arc;

use portcullis_model::{Trust, UpstreamTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::system;
use crate::tls::schemes::Schemes;

/// Checks a backend's certificate by what its [`UpstreamTls`] says.
///
/// Source: `BackendTLSPolicyValidation` field documentation. The hostname decides unless names are given; the names
/// decide then, and the hostname is only sent. That a leaf is trusted which is, byte for byte, one of the given
/// certificates is ours (docs/semantics.md): a backend with a self-signed certificate needs no authority.
#[derive(Debug)]
pub(super) struct Verifier {
    tls: Arc<UpstreamTls>,
    roots: Arc<RootCertStore>,
    schemes: Schemes,
}

impl Verifier {
    pub(super) fn new(tls: &Arc<UpstreamTls>) -> Verifier {
        Verifier {
            tls: Arc::clone(tls),
            roots: match &tls.trust {
                Trust::System => system::roots(),
                Trust::Given(given) => Arc::clone(given.roots()),
            },
            schemes: Schemes::new(&tls.options),
        }
    }

    fn is_given(&self, leaf: &CertificateDer<'_>, now: UnixTime) -> bool {
        let Trust::Given(given) = &self.tls.trust else { return false };
        i64::try_from(now.as_secs()).is_ok_and(|now| given.names_itself(leaf, now))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(leaf)?;
        if !self.is_given(leaf, now) {
            let algorithms = self.schemes.algorithms().all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
        }
        if self.tls.names.is_empty() {
            verify_server_name(&parsed, server_name)?;
        } else if !self.tls.names.iter().any(|name| name.is_of(leaf)) {
            return Err(CertificateError::NotValidForName.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.schemes.verify_tls12(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.schemes.verify_tls13(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.offered()
    }
}
