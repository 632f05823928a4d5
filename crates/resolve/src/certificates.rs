//! Certificates of listeners: references, grants and what the Secrets hold.

use std::sync::Arc;

use portcullis_api::references::SecretObjectRef;
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{Certificate, TlsServer};

use crate::causes::{CERTIFICATE_MISSING, CERTIFICATE_NOT_PERMITTED, CERTIFICATE_REF, Cause};
use crate::client_validation::{Demand, Demanded};
use crate::finding::Finding;
use crate::grants::{Referrer, permits};
use crate::listeners::{Declared, DeclaredListeners, Protocol, parent_of};
use crate::memo::Query;
use crate::origin::{namespace_or, origin};
use crate::view::View;

/// What a listener ends TLS with. A listener without TLS has neither findings nor a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListenerTls {
    pub(crate) owner: ObjectKey,
    pub(crate) index: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TlsOutcome {
    /// References that do not resolve, the gravest first.
    pub(crate) unresolved: Vec<Finding>,
    /// With the certificates that do; nothing if none does.
    pub(crate) server: Option<Arc<TlsServer>>,
}

impl Query for ListenerTls {
    type Value = TlsOutcome;

    fn compute(&self, view: &View<'_>) -> TlsOutcome {
        let listeners = view.get(&DeclaredListeners { owner: self.owner.clone() });
        let Some(listener) = listeners.get(self.index) else { return TlsOutcome::default() };
        let Some(tls) = &listener.tls else { return TlsOutcome::default() };
        let path = listener.path.fields("tls.certificateRefs");
        let from = Referrer::of(&self.owner);
        let mut unresolved = Vec::new();
        let mut certificates = Vec::new();
        for (index, reference) in tls.certificates.iter().enumerate() {
            match certificate(view, &from, reference) {
                Ok(certificate) => certificates.push(certificate),
                Err((cause, message)) => unresolved.push(Finding::new(cause, path.index(index), message)),
            }
        }
        if tls.certificates.is_empty() {
            unresolved.push(Finding::plain(&CERTIFICATE_MISSING, path));
        }
        let demanded = demanded(view, &self.owner, listener);
        let clients = match demanded.as_ref().map(|demanded| demanded.validation.clone()) {
            Some(None) => None, // nobody gets in
            Some(Some(validation)) => Some(Some(validation)),
            None => Some(None),
        };
        let unresolved_authorities = demanded.into_iter().flat_map(|demanded| demanded.unresolved);
        unresolved.extend(unresolved_authorities.map(|finding| told_to(&self.owner, listener, finding)));
        let server = clients
            .filter(|_| !certificates.is_empty())
            .map(|clients| Arc::new(TlsServer { certificates, options: tls.options.clone(), clients }));
        TlsOutcome { unresolved, server }
    }
}

/// What the Gateway demands of a listener's clients.
fn demanded(view: &View<'_>, owner: &ObjectKey, listener: &Declared) -> Option<Demanded> {
    let is_https = matches!(listener.protocol, Some(Protocol::Https | Protocol::Http3));
    let gateway = parent_of(view, owner).filter(|_| is_https)?;
    (*view.get(&Demand { gateway, port: listener.port })).clone()
}

/// A ListenerSet is told the cause without the names of the Gateway's objects.
fn told_to(owner: &ObjectKey, listener: &Declared, finding: Finding) -> Finding {
    match owner.kind {
        Kind::ListenerSet => Finding::plain(finding.cause, listener.path.clone()),
        _ => finding,
    }
}

/// The certificate that a reference leads to, or why it leads nowhere.
pub(crate) fn certificate(
    view: &View<'_>,
    from: &Referrer,
    reference: &SecretObjectRef,
) -> Result<Arc<Certificate>, (&'static Cause, String)> {
    let namespace = namespace_or(reference.namespace.as_ref(), &from.namespace);
    let name = reference.name.as_str();
    let (group, kind) = (reference.group.as_str(), reference.kind.as_str());
    if !permits(view, from, group, kind, &namespace, name) {
        let message =
            format!("the reference to {kind} {namespace}/{name} is not permitted by a ReferenceGrant");
        return Err((&CERTIFICATE_NOT_PERMITTED, message));
    }
    if Kind::of(group, kind) != Some(Kind::Secret) {
        return Err((&CERTIFICATE_REF, format!("{kind} {namespace}/{name} is no Secret")));
    }
    let key = ObjectKey::new(Kind::Secret, namespace, reference.name.shared());
    (*view.get(&SecretCertificate { key: key.clone() }))
        .clone()
        .map_err(|why| (&CERTIFICATE_REF, format!("Secret {}/{} {why}", key.namespace, key.name)))
}

/// The entry of a Secret with an OCSP response for its certificate, in DER: ours, since Kubernetes has no name for it.
const STAPLE: &str = "tls.ocsp-staple";

/// The certificate that a Secret holds, or why it holds none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SecretCertificate {
    key: ObjectKey,
}

impl Query for SecretCertificate {
    type Value = Result<Arc<Certificate>, String>;

    fn compute(&self, view: &View<'_>) -> Result<Arc<Certificate>, String> {
        let secret = view.secret(&self.key).ok_or_else(|| "does not exist".to_owned())?;
        let part = |name: &str| secret.get(name).ok_or_else(|| format!("has no {name}"));
        let (chain, key) = (part("tls.crt")?, part("tls.key")?);
        let certificate = Certificate::parse(origin(&self.key), chain, key);
        let stapled = certificate.map(|certificate| match secret.get(STAPLE) {
            Some(response) => certificate.with_staple(response),
            None => certificate,
        });
        stapled.map(Arc::new).map_err(|error| format!("cannot be used: {error}"))
    }
}
