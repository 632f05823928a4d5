//! What is there and has no effect.

use portcullis_api::listener::ListenerStatus;
use portcullis_api::secret::Secret;
use portcullis_api::status::{ConditionStatus, verdict};
use portcullis_api::{Diagnostic, FieldPath, Kind, Object, ObjectKey};
use portcullis_resolve::{Resolved, Status};
use portcullis_store::{Bucket, Store};

use super::rules::{NO_ENDPOINTS, UNUSED_BACKEND, UNUSED_CERTIFICATE, UNUSED_LISTENER};

/// Kinds that lead to backends.
const ROUTES: [Kind; 5] = [Kind::HttpRoute, Kind::GrpcRoute, Kind::TlsRoute, Kind::TcpRoute, Kind::UdpRoute];
/// Kinds that name certificates.
const TLS_USERS: [Kind; 3] = [Kind::Gateway, Kind::ListenerSet, Kind::Backend];

pub(super) fn lint(store: &Store, resolved: &Resolved) -> Vec<Diagnostic> {
    let backends = store.list(Kind::Service).chain(store.list(Kind::Backend));
    let mut found: Vec<Diagnostic> = backends.filter_map(|object| of_backend(store, &object.key())).collect();
    found.extend(store.list(Kind::Secret).filter_map(|object| of_secret(store, object)));
    found.extend(of_listeners(resolved));
    found.extend(of_endpoints(resolved));
    found
}

fn is_referred_to(store: &Store, key: &ObjectKey, by: &[Kind]) -> bool {
    by.iter().any(|kind| store.count(&Bucket::referring(*kind, key.clone())) > 0)
}

fn of_backend(store: &Store, key: &ObjectKey) -> Option<Diagnostic> {
    let unused = !is_referred_to(store, key, &ROUTES);
    unused.then(|| {
        let message = format!("no route leads to {key}");
        Diagnostic::new(&UNUSED_BACKEND, FieldPath::ROOT, message).about(key.clone())
    })
}

fn of_secret(store: &Store, object: &Object) -> Option<Diagnostic> {
    let Object::Secret(secret) = object else { return None };
    let key = object.key();
    let unused = is_certificate(secret) && !is_referred_to(store, &key, &TLS_USERS);
    unused.then(|| {
        let message = format!("no listener uses {key}");
        Diagnostic::new(&UNUSED_CERTIFICATE, FieldPath::ROOT, message).about(key.clone())
    })
}

fn is_certificate(secret: &Secret) -> bool {
    secret.data.contains_key("tls.crt")
}

fn of_listeners(resolved: &Resolved) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (key, status) in &resolved.statuses {
        let listeners = match &**status {
            Status::Gateway(status) => &status.listeners,
            Status::ListenerSet(status) => &status.listeners,
            Status::GatewayClass(_) | Status::Route(_) | Status::Policy(_) => continue,
        };
        let idle = listeners.iter().enumerate().filter(|(_, listener)| is_idle(listener));
        found.extend(idle.map(|(index, listener)| {
            let path = FieldPath::of("spec").field("listeners").index(index);
            let message = format!("no route is attached to listener {}", listener.name);
            Diagnostic::new(&UNUSED_LISTENER, path, message).about(key.clone())
        }));
    }
    found
}

/// Accepted, and without a route.
fn is_idle(listener: &ListenerStatus) -> bool {
    listener.attached_routes == 0 && verdict(&listener.conditions, "Accepted") == Some(&ConditionStatus::True)
}

fn of_endpoints(resolved: &Resolved) -> Vec<Diagnostic> {
    let empty = resolved.model.endpoints.values().filter(|endpoints| endpoints.endpoints.is_empty());
    let services = empty.filter(|endpoints| *endpoints.key.origin.kind == *Kind::Service.as_str());
    let findings = services.map(|endpoints| {
        let origin = &endpoints.key.origin;
        let key = ObjectKey::new(Kind::Service, origin.namespace.clone(), origin.name.clone());
        let message = format!("{} has no endpoints", endpoints.key);
        Diagnostic::new(&NO_ENDPOINTS, FieldPath::ROOT, message).about(key)
    });
    findings.collect()
}
