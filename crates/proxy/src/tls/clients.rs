//! Client certificates: whom a guarded listener lets in.

use std::sync::Arc;

use portcullis_model::{ClientMode, ClientValidation, TlsOptions};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

use super::schemes::Schemes;

/// Whom a listener lets in.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Arc<Verifier>);

#[derive(Debug)]
struct Verifier {
    validation: Arc<ClientValidation>,
    /// Nothing if none of the given certificates may vouch for others.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    schemes: Schemes,
}

impl Guard {
    pub(super) fn new(validation: &Arc<ClientValidation>, options: &TlsOptions) -> Result<Guard, Error> {
        let roots = Arc::clone(validation.authorities.roots());
        let chain = if roots.is_empty() {
            None
        } else {
            let builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::new(default_provider()));
            Some(builder.build().map_err(|error| Error::General(error.to_string()))?)
        };
        let (validation, schemes) = (Arc::clone(validation), Schemes::new(options));
        Ok(Guard(Arc::new(Verifier { validation, chain, schemes })))
    }

    /// As rustls asks for it.
    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.0) as _
    }

    /// Whether nobody gets in without a certificate of the authorities.
    pub(super) fn is_strict(&self) -> bool {
        self.0.validation.mode == ClientMode::AllowValidOnly
    }

    /// Whether a chain, leaf first, is one of the authorities', now.
    pub(super) fn verifies(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((leaf, intermediates)) = chain.split_first() else { return false };
        self.0.verify_chain(leaf, intermediates, UnixTime::now()).is_ok()
    }
}

impl Verifier {
    fn verify_chain(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match &self.chain {
            Some(chain) => chain.verify_client_cert(leaf, intermediates, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.validation.mode == ClientMode::AllowValidOnly
    }

    /// Where any certificate is taken, none is hinted at: clients would hold back those of other authorities.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        match (&self.chain, self.validation.mode) {
            (Some(chain), ClientMode::AllowValidOnly) => chain.root_hint_subjects(),
            _ => &[],
        }
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.validation.mode {
            ClientMode::AllowValidOnly => self.verify_chain(leaf, intermediates, now),
            ClientMode::AllowInsecureFallback => Ok(ClientCertVerified::assertion()),
        }
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
