//! Backends: where references lead, and where the instances are.

mod endpoints;
mod external;
mod hints;
mod protocols;
mod services;
mod slices;

use std::sync::Arc;

use portcullis_api::port::PortNumber;
use portcullis_api::references::BackendRef;
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::{
    Cluster, ClusterKey, EndpointsKey, FailureReason, Origin, UpstreamProtocol, UpstreamTls,
};

use crate::backend_tls::BackendTls;
use crate::causes::{BACKEND_KIND, Cause, REF_NOT_PERMITTED};
use crate::grants::{Referrer, permits};
use crate::memo::Query;
use crate::origin::{namespace_or, origin};
use crate::view::View;
pub(crate) use endpoints::EndpointsOf;
pub(crate) use external::BackendOutcome;
pub(crate) use protocols::Speech;
pub(crate) use slices::SliceOutcome;

/// Why a backend's share fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) cause: &'static Cause,
    pub(crate) reason: FailureReason,
    pub(crate) message: Arc<str>,
}

impl Refusal {
    fn new(cause: &'static Cause, message: String) -> Refusal {
        Refusal { cause, reason: FailureReason::BackendInvalid, message: message.into() }
    }

    fn guarded(cause: &'static Cause, message: &str) -> Refusal {
        Refusal { cause, reason: FailureReason::BackendGuarded, message: message.into() }
    }
}

/// The object that a reference names, whether or not it exists, and the cluster that it leads to.
///
/// The grant is judged first, so that a reference without one tells nothing about its target.
pub(crate) fn resolve(
    view: &View<'_>,
    route: &ObjectKey,
    reference: &BackendRef,
) -> (Origin, Result<ClusterKey, Refusal>) {
    resolve_as(view, route, reference, Speech::of(route.kind))
}

/// The same, where the kind of the route does not tell what is said to the backend.
pub(crate) fn resolve_as(
    view: &View<'_>,
    route: &ObjectKey,
    reference: &BackendRef,
    speech: Speech,
) -> (Origin, Result<ClusterKey, Refusal>) {
    let namespace = namespace_or(reference.namespace.as_ref(), &route.namespace);
    let (group, kind, name) = (reference.group.as_str(), reference.kind.as_str(), reference.name.as_str());
    let named =
        Origin { kind: kind.into(), namespace: Arc::clone(&namespace), name: reference.name.shared() };
    if !permits(view, &Referrer::of(route), group, kind, &namespace, name) {
        let message =
            format!("the reference to {kind} {namespace}/{name} is not permitted by a ReferenceGrant");
        return (named, Err(Refusal::new(&REF_NOT_PERMITTED, message)));
    }
    let known = Kind::of(group, kind).filter(|kind| matches!(kind, Kind::Service | Kind::Backend));
    let Some(known) = known else {
        let message = format!("{kind} {namespace}/{name} is of no known kind of backend");
        return (named, Err(Refusal::new(&BACKEND_KIND, message)));
    };
    let object = ObjectKey::new(known, namespace, reference.name.shared());
    let port = reference.port.map(PortNumber::get);
    (named, (*view.get(&Resolution { object, port, speech })).clone())
}

/// Where a backend leads, and how it is spoken to there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Resolution {
    object: ObjectKey,
    port: Option<u16>,
    speech: Speech,
}

impl Query for Resolution {
    type Value = Result<ClusterKey, Refusal>;

    fn compute(&self, view: &View<'_>) -> Result<ClusterKey, Refusal> {
        let (port, protocol) = match self.object.kind {
            Kind::Service => services::resolve(view, &self.object, self.port, self.speech)?,
            // Its endpoints have ports of their own.
            _ => (0, external::resolve(view, &self.object, self.speech)?),
        };
        let endpoints =
            EndpointsKey { origin: origin(&self.object), port, transport: self.speech.transport() };
        Ok(ClusterKey { endpoints, protocol })
    }
}

/// How a backend is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClusterOf {
    pub(crate) key: ClusterKey,
}

impl Query for ClusterOf {
    type Value = Arc<Cluster>;

    fn compute(&self, view: &View<'_>) -> Arc<Cluster> {
        Arc::new(Cluster { key: self.key.clone(), tls: tls(view, &self.key) })
    }
}

/// How TLS is spoken to the instances of a backend. One that demands TLS that cannot be spoken is no cluster.
fn tls(view: &View<'_>, key: &ClusterKey) -> Option<Arc<UpstreamTls>> {
    let ClusterKey { endpoints, protocol } = key;
    if matches!(protocol, UpstreamProtocol::Tls | UpstreamProtocol::Udp) {
        return None; // no policy is heard (`Speech::is_guardable`)
    }
    let Origin { kind, namespace, name } = &endpoints.origin;
    let object = |kind| ObjectKey::new(kind, Arc::clone(namespace), Arc::clone(name));
    let query = match &**kind {
        "Service" => {
            let backend = object(Kind::Service);
            let service = view.service(&backend)?;
            let port = services::find_port(&service, endpoints.port, endpoints.transport)?;
            BackendTls { port: Some(port.name.as_deref().unwrap_or_default().into()), backend }
        }
        "Backend" => BackendTls { backend: object(Kind::Backend), port: None },
        _ => return None,
    };
    view.get(&query).as_ref().as_ref().and_then(|tls| tls.as_ref().ok()).cloned()
}
