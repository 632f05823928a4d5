//! `Backend` objects of gateway.envoyproxy.io.

use portcullis_api::backend::{Backend, BackendType};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{EndpointAddress, UpstreamProtocol};

use super::endpoints::{address, in_scope};
use super::{Refusal, Speech, protocols};
use crate::backend_tls::BackendTls;
use crate::causes::{
    BACKEND_ENDPOINT_IGNORED, BACKEND_FALLBACK_NO_EFFECT, BACKEND_GUARDED, BACKEND_LOOPBACK,
    BACKEND_NOT_FOUND, BACKEND_OUT_OF_SCOPE, BACKEND_PROTOCOL, BACKEND_VALUE,
};
use crate::finding::Finding;
use crate::memo::Query;
use crate::outcome::Outcome;
use crate::view::View;

/// What a Backend speaks, or why it cannot be forwarded to.
pub(super) fn resolve(view: &View<'_>, key: &ObjectKey, speech: Speech) -> Result<UpstreamProtocol, Refusal> {
    let name = format!("Backend {}/{}", key.namespace, key.name);
    let Some(backend) = view.backend(key) else {
        return Err(Refusal::new(&BACKEND_NOT_FOUND, format!("{name} does not exist")));
    };
    if backend.spec.backend_type != BackendType::Endpoints {
        let message = format!("{name} is of type {}, which is not forwarded to", backend.spec.backend_type);
        return Err(Refusal::new(&BACKEND_VALUE, message));
    }
    if speech.is_guardable() && backend.spec.tls.is_some() {
        let message = format!("{name} demands TLS in spec.tls, which is not spoken");
        return Err(Refusal::guarded(&BACKEND_GUARDED, &message));
    }
    let tls = view.get(&BackendTls { backend: key.clone(), port: None });
    if speech.is_guardable()
        && let Some(Err(why)) = tls.as_ref()
    {
        return Err(Refusal::guarded(&BACKEND_GUARDED, why));
    }
    let mut addresses = backend.spec.endpoints.iter().filter_map(address).peekable();
    if addresses.peek().is_some() && addresses.all(|address| !in_scope(view, &address)) {
        let message = format!("{name} leads only where no backend may be");
        return Err(Refusal::new(&BACKEND_OUT_OF_SCOPE, message));
    }
    protocols::of_backend(&backend.spec.app_protocols, speech, tls.is_some()).map_err(|protocol| {
        let message = format!("{name} speaks {protocol}, which this route cannot speak");
        Refusal::new(&BACKEND_PROTOCOL, message)
    })
}

/// What is said about a Backend. It has no status of ours: in a cluster it is another controller's to write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BackendOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for BackendOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(backend) = view.backend(&self.key) else { return Outcome::default() };
        let mut findings = Vec::new();
        let spec = FieldPath::of("spec");
        if backend.spec.fallback == Some(true) {
            findings.push(Finding::plain(&BACKEND_FALLBACK_NO_EFFECT, spec.field("fallback")));
        }
        findings.extend(endpoint_findings(view, &backend, &spec.field("endpoints")));
        Outcome::new(&self.key, None, &findings)
    }
}

fn endpoint_findings(view: &View<'_>, backend: &Backend, path: &FieldPath) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, endpoint) in backend.spec.endpoints.iter().enumerate() {
        match address(endpoint) {
            Some(address) if !in_scope(view, &address) => {
                let message = format!("the backend may not be {}", place(&address));
                findings.push(Finding::new(&BACKEND_OUT_OF_SCOPE, path.index(index), message));
            }
            Some(EndpointAddress::Socket(socket)) if socket.ip().is_loopback() => {
                let message = format!("{socket} is this machine itself");
                findings.push(Finding::new(&BACKEND_LOOPBACK, path.index(index), message));
            }
            Some(_) => {}
            None => findings.push(Finding::plain(&BACKEND_ENDPOINT_IGNORED, path.index(index))),
        }
    }
    findings
}

fn place(address: &EndpointAddress) -> String {
    match address {
        EndpointAddress::Socket(address) => format!("at {address}: that is this machine or its link"),
        EndpointAddress::Name { hostname, port } => format!("at {}:{port}", hostname.as_str()),
        EndpointAddress::Unix(path) => format!("the socket {path} of this machine"),
    }
}
