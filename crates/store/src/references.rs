//! Who refers to whom, read off the fields that hold references.
//!
//! References to kinds that we do not know lead nowhere in a store and are left out.

use portcullis_api::gateway::Gateway;
use portcullis_api::grpc_route::GrpcFilter;
use portcullis_api::http_filter::HttpFilter;
use portcullis_api::listener::Listener;
use portcullis_api::references::{
    BackendObjectRef, BackendRef, LocalObjectRef, ObjectRef, ParentRef, PolicyTargetRef, SecretObjectRef,
};
use portcullis_api::{Kind, Object, ObjectKey};

/// The label by which an EndpointSlice names its Service.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// A reference as its field is written; the namespace is that of the referrer where the field has none.
trait Reference {
    fn target(&self, home: &str) -> Option<ObjectKey>;
}

macro_rules! references {
    ($($ty:ty),+) => { $(impl Reference for $ty {
        fn target(&self, home: &str) -> Option<ObjectKey> {
            let namespace = self.namespace.as_ref().map_or(home, |namespace| namespace.as_str());
            key(self.group.as_str(), self.kind.as_str(), namespace, self.name.as_str())
        }
    })+ };
    (local $($ty:ty),+) => { $(impl Reference for $ty {
        fn target(&self, home: &str) -> Option<ObjectKey> {
            key(self.group.as_str(), self.kind.as_str(), home, self.name.as_str())
        }
    })+ };
}

references!(
    ParentRef,
    BackendRef,
    BackendObjectRef,
    SecretObjectRef,
    ObjectRef,
    portcullis_api::references::ParentGatewayRef,
    portcullis_api::http_route::HttpBackendRef,
    portcullis_api::grpc_route::GrpcBackendRef
);
references!(local LocalObjectRef, PolicyTargetRef);

fn key(group: &str, kind: &str, namespace: &str, name: &str) -> Option<ObjectKey> {
    Some(ObjectKey::new(Kind::of(group, kind)?, namespace, name))
}

/// Collects targets for an object of the namespace `home`.
struct Targets<'a> {
    home: &'a str,
    note: &'a mut dyn FnMut(ObjectKey),
}

impl Targets<'_> {
    fn note(&mut self, reference: &impl Reference) {
        if let Some(target) = reference.target(self.home) {
            (self.note)(target);
        }
    }

    fn all<'r, R: Reference + 'r>(&mut self, references: impl IntoIterator<Item = &'r R>) {
        for reference in references {
            self.note(reference);
        }
    }
}

/// Calls `note` with every object that this one attaches or refers to, some of them more than once.
pub fn each_target(object: &Object, note: &mut dyn FnMut(ObjectKey)) {
    let key = object.key();
    parents(object, &key.namespace, note);
    others(object, &key.namespace, note);
}

/// The objects that this one attaches to.
pub(crate) fn parents(object: &Object, home: &str, note: &mut dyn FnMut(ObjectKey)) {
    let mut targets = Targets { home, note };
    match object {
        Object::ListenerSet(set) => targets.note(&set.spec.parent_ref),
        Object::BackendTlsPolicy(policy) => targets.all(&policy.spec.target_refs),
        Object::EndpointSlice(slice) => {
            let labels = slice.metadata.labels.as_ref();
            if let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME)) {
                (targets.note)(ObjectKey::new(Kind::Service, home, service.as_str()));
            }
        }
        route => targets.all(route.route_parents().into_iter().flatten()),
    }
}

/// The objects that this one refers to other than as its parent.
pub(crate) fn others(object: &Object, home: &str, note: &mut dyn FnMut(ObjectKey)) {
    let mut targets = Targets { home, note };
    match object {
        Object::GatewayClass(class) => targets.all(&class.spec.parameters_ref),
        Object::Gateway(gateway) => of_gateway(gateway, &mut targets),
        Object::ListenerSet(set) => of_listeners(&set.spec.listeners, &mut targets),
        Object::HttpRoute(route) => {
            for rule in &route.spec.rules {
                of_http_filters(&rule.filters, &mut targets);
                for backend in &rule.backend_refs {
                    targets.note(backend);
                    of_http_filters(&backend.filters, &mut targets);
                }
            }
        }
        Object::GrpcRoute(route) => {
            for rule in &route.spec.rules {
                of_grpc_filters(&rule.filters, &mut targets);
                for backend in &rule.backend_refs {
                    targets.note(backend);
                    of_grpc_filters(&backend.filters, &mut targets);
                }
            }
        }
        Object::TlsRoute(route) => targets.all(route.spec.rules.iter().flat_map(|r| &r.backend_refs)),
        Object::TcpRoute(route) => targets.all(route.spec.rules.iter().flat_map(|r| &r.backend_refs)),
        Object::UdpRoute(route) => targets.all(route.spec.rules.iter().flat_map(|r| &r.backend_refs)),
        Object::BackendTlsPolicy(policy) => targets.all(&policy.spec.validation.ca_certificate_refs),
        Object::Backend(backend) => {
            if let Some(tls) = &backend.spec.tls {
                targets.all(&tls.ca_certificate_refs);
                targets.all(&tls.client_certificate_ref);
            }
        }
        _ => {}
    }
}

fn of_gateway(gateway: &Gateway, targets: &mut Targets<'_>) {
    let spec = &gateway.spec;
    targets.all(spec.infrastructure.iter().filter_map(|i| i.parameters_ref.as_ref()));
    if let Some(tls) = &spec.tls {
        targets.all(tls.backend.iter().filter_map(|backend| backend.client_certificate_ref.as_ref()));
        if let Some(frontend) = &tls.frontend {
            let ports = frontend.per_port.iter().map(|port| &port.tls);
            let validations = ports.chain([&frontend.default]).filter_map(|tls| tls.validation.as_ref());
            targets.all(validations.flat_map(|validation| &validation.ca_certificate_refs));
        }
    }
    of_listeners(&spec.listeners, targets);
}

fn of_listeners(listeners: &[Listener], targets: &mut Targets<'_>) {
    for listener in listeners {
        targets.all(listener.tls.iter().flat_map(|tls| &tls.certificate_refs));
        for filter in listener.filters.iter().flat_map(|filters| &filters.requests) {
            targets.all(filter.external_auth.iter().map(|auth| &auth.backend_ref));
            targets.all(&filter.extension_ref);
        }
    }
}

fn of_http_filters(filters: &[HttpFilter], targets: &mut Targets<'_>) {
    for filter in filters {
        targets.all(filter.request_mirror.iter().map(|mirror| &mirror.backend_ref));
        targets.all(filter.external_auth.iter().map(|auth| &auth.backend_ref));
        targets.all(&filter.extension_ref);
    }
}

fn of_grpc_filters(filters: &[GrpcFilter], targets: &mut Targets<'_>) {
    for filter in filters {
        targets.all(filter.request_mirror.iter().map(|mirror| &mirror.backend_ref));
        targets.all(&filter.extension_ref);
    }
}
