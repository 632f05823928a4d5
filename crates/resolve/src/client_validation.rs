//! Client certificates: whom the clients of a Gateway's HTTPS listeners must come from.

use std::sync::Arc;

use portcullis_api::gateway::{ClientValidation as Written, ClientValidationMode, FrontendTls};
use portcullis_api::references::ObjectRef;
use portcullis_api::{FieldPath, Kind, ObjectKey};
use portcullis_model::{CaBundle, CaSet, ClientMode, ClientValidation};

use crate::authorities::{self, Authorities};
use crate::causes::{CLIENT_CA_KIND, CLIENT_CA_NOT_PERMITTED, CLIENT_CA_REF, Cause};
use crate::finding::Finding;
use crate::grants::{Referrer, permits};
use crate::memo::Query;
use crate::origin::namespace_or;
use crate::view::View;

/// What a Gateway demands of the clients of its HTTPS listeners on a port, its ListenerSets' included: nothing is
/// nothing. It is judged from the Gateway's namespace and kind, wherever the listener is defined.
///
/// Source: `FrontendTLSConfig` field documentation: an entry of `perPort` replaces `default` whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Demand {
    pub(crate) gateway: ObjectKey,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demanded {
    /// With the authorities that resolve; nothing if none does.
    pub(crate) validation: Option<Arc<ClientValidation>>,
    /// References that do not resolve.
    pub(crate) unresolved: Vec<Finding>,
}

impl Query for Demand {
    type Value = Option<Demanded>;

    fn compute(&self, view: &View<'_>) -> Option<Demanded> {
        let gateway = view.gateway(&self.gateway)?;
        let (written, path) = written(gateway.spec.tls.as_ref()?.frontend.as_ref()?, self.port)?;
        let path = path.field("caCertificateRefs");
        let from = Referrer::of(&self.gateway);
        let mut unresolved = Vec::new();
        let mut bundles = Vec::new();
        for (index, reference) in written.ca_certificate_refs.iter().enumerate() {
            match bundle(view, &from, reference) {
                Ok(bundle) => bundles.push(bundle),
                Err((cause, message)) => unresolved.push(Finding::new(cause, path.index(index), message)),
            }
        }
        let mode = mode(&written.mode);
        let validation = CaSet::new(bundles)
            .map(|authorities| Arc::new(ClientValidation { mode, authorities: Arc::new(authorities) }));
        Some(Demanded { validation, unresolved })
    }
}

/// What applies on a port, and where it stands.
fn written(frontend: &FrontendTls, port: u16) -> Option<(&Written, FieldPath)> {
    let root = FieldPath::of("spec").fields("tls.frontend");
    let on_port = frontend.per_port.iter().position(|entry| entry.port.get() == port);
    let (tls, path) = match on_port.and_then(|index| Some((index, frontend.per_port.get(index)?))) {
        Some((index, entry)) => (&entry.tls, root.field("perPort").index(index).field("tls")),
        None => (&frontend.default, root.field("default")),
    };
    Some((tls.validation.as_ref()?, path.field("validation")))
}

/// A mode that we do not know lets in no more than the strictest.
fn mode(written: &ClientValidationMode) -> ClientMode {
    match written {
        ClientValidationMode::AllowInsecureFallback => ClientMode::AllowInsecureFallback,
        _ => ClientMode::AllowValidOnly,
    }
}

/// Whether some port of a Gateway takes clients without a valid certificate though it asks for one.
pub(crate) fn is_insecure(frontend: &FrontendTls) -> bool {
    let all = frontend.per_port.iter().map(|entry| &entry.tls).chain([&frontend.default]);
    all.filter_map(|tls| tls.validation.as_ref())
        .any(|validation| mode(&validation.mode) == ClientMode::AllowInsecureFallback)
}

/// The grant is judged first, so that a reference without one tells nothing about its target. What has no namespace
/// needs none.
fn bundle(
    view: &View<'_>,
    from: &Referrer,
    reference: &ObjectRef,
) -> Result<Arc<CaBundle>, (&'static Cause, String)> {
    let (group, kind, name) = (reference.group.as_str(), reference.kind.as_str(), reference.name.as_str());
    let namespace = namespace_or(reference.namespace.as_ref(), &from.namespace);
    let known = authorities::kind_of(view, group, kind);
    let is_namespaced = known.is_none_or(Kind::is_namespaced);
    if is_namespaced && !permits(view, from, group, kind, &namespace, name) {
        let message =
            format!("the reference to {kind} {namespace}/{name} is not permitted by a ReferenceGrant");
        return Err((&CLIENT_CA_NOT_PERMITTED, message));
    }
    let Some(known) = known else {
        return Err((&CLIENT_CA_KIND, format!("{kind} {name} is of a kind that holds no CA certificates")));
    };
    let object = ObjectKey::new(known, namespace, reference.name.shared());
    (*view.get(&Authorities { object })).clone().map_err(|why| (&CLIENT_CA_REF, why))
}
