//! How peers may sign.

use std::sync::Arc;

use portcullis_model::TlsOptions;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::{DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme};
use rustls_pki_types::CertificateDer;

use super::certificates::scheme_of;

/// The schemes that a peer is offered to sign its handshake with. rustls takes whatever it can verify; the settings
/// may say less.
#[derive(Clone, Debug)]
pub(crate) struct Schemes {
    offered: Arc<[SignatureScheme]>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Schemes {
    pub(crate) fn new(options: &TlsOptions) -> Schemes {
        Schemes {
            offered: options.signature_schemes.iter().map(|scheme| scheme_of(*scheme)).collect(),
            algorithms: default_provider().signature_verification_algorithms,
        }
    }

    pub(crate) fn offered(&self) -> Vec<SignatureScheme> {
        self.offered.to_vec()
    }

    /// What certificates may be signed with.
    pub(crate) fn algorithms(&self) -> WebPkiSupportedAlgorithms {
        self.algorithms
    }

    fn check(&self, signed: &DigitallySignedStruct) -> Result<(), Error> {
        let offered = self.offered.contains(&signed.scheme);
        offered.then_some(()).ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
    }

    pub(crate) fn verify_tls12(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(signed)?;
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    pub(crate) fn verify_tls13(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(signed)?;
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }
}
