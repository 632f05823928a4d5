//! The certificate that a Gateway shows to backends.

use std::sync::Arc;

use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::Certificate;

use crate::causes::{CERTIFICATE_NOT_PERMITTED, CLIENT_CERTIFICATE_REF};
use crate::certificates::certificate;
use crate::finding::Finding;
use crate::grants::Referrer;
use crate::memo::Query;
use crate::view::View;

/// The certificate that a Gateway shows to backends to which TLS is spoken, or why it shows none though it names
/// one: backends that ask for one refuse the connection then.
///
/// Source: `GatewayBackendTLS.clientCertificateRef` field documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientCertificate {
    pub(crate) gateway: ObjectKey,
}

impl Query for ClientCertificate {
    type Value = Option<Result<Arc<Certificate>, Finding>>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let gateway = view.gateway(&self.gateway)?;
        let backend = gateway.spec.tls.as_ref()?.backend.as_ref()?;
        let reference = backend.client_certificate_ref.as_ref()?;
        Some(certificate(view, &Referrer::of(&self.gateway), reference).map_err(|(cause, message)| {
            let permitted = cause != &CERTIFICATE_NOT_PERMITTED;
            let cause = if permitted { &CLIENT_CERTIFICATE_REF } else { cause };
            Finding::new(cause, FieldPath::of("spec").fields("tls.backend.clientCertificateRef"), message)
        }))
    }
}
