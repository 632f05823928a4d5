//! Routes of kinds that are not served yet: they attach to no listener, and say so.

use portcullis_api::references::ParentRef;
use portcullis_api::{FieldPath, Object, ObjectKey};

use crate::attachment::{AttachPoints, parent_key};
use crate::causes::ROUTE_KIND_UNSERVED;
use crate::finding::Finding;
use crate::memo::Query;
use crate::outcome::Outcome;
use crate::view::View;

/// What is said about a GRPCRoute, TLSRoute, TCPRoute or UDPRoute: no entry, for no listener takes its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnservedOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for UnservedOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let parents: &[ParentRef] = match view.object(&self.key) {
            Some(Object::GrpcRoute(route)) => &route.spec.parent_refs,
            Some(Object::TlsRoute(route)) => &route.spec.parent_refs,
            Some(Object::TcpRoute(route)) => &route.spec.parent_refs,
            Some(Object::UdpRoute(route)) => &route.spec.parent_refs,
            _ => &[],
        };
        let ours = parents.iter().filter_map(|reference| parent_key(reference, &self.key));
        if ours.into_iter().all(|parent| view.get(&AttachPoints { parent }).is_none()) {
            return Outcome::default();
        }
        let message = format!("routes of kind {} are not served yet", self.key.kind);
        Outcome::new(&self.key, None, &[Finding::new(&ROUTE_KIND_UNSERVED, FieldPath::of("spec"), message)])
    }
}
