//! The Gateways that a policy concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::names::{Group, KindName, Namespace, ObjectName};
use portcullis_api::references::ParentRef;
use portcullis_api::status::ControllerName;
use portcullis_api::{Kind, ObjectKey};

use crate::attachment::Attachments;
use crate::gateways::OurGateway;
use crate::listener_sets::{Place, PlaceOf};
use crate::listeners::parent_of;
use crate::memo::Query;
use crate::view::View;

/// The Gateways of ours of which a route, or a filter of a listener, leads to a backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GatewaysTo {
    pub(super) backend: ObjectKey,
}

impl Query for GatewaysTo {
    type Value = BTreeSet<(ObjectKey, ControllerName)>;

    fn compute(&self, view: &View<'_>) -> BTreeSet<(ObjectKey, ControllerName)> {
        let mut gateways = BTreeSet::new();
        let kinds = &view.engine().capabilities.route_kinds;
        for route in kinds.iter().flat_map(|kind| view.referring(*kind, &self.backend)) {
            for attachment in view.get(&Attachments { route }).iter().filter(|found| found.listeners.is_ok())
            {
                if let Some(gateway) = parent_of(view, &attachment.parent) {
                    gateways.insert((gateway, attachment.controller.clone()));
                }
            }
        }
        // Listeners refer to backends by their filters alone.
        let owners = [Kind::Gateway, Kind::ListenerSet];
        for owner in owners.into_iter().flat_map(|kind| view.referring(kind, &self.backend)) {
            let gateway = parent_of(view, &owner).filter(|_| is_attached(view, &owner));
            let Some(gateway) = gateway else { continue };
            if let Some(standing) = view.get(&OurGateway { key: gateway.clone() }).as_ref() {
                gateways.insert((gateway, standing.class.controller.clone()));
            }
        }
        gateways
    }
}

/// Whether the listeners of an object are some Gateway's.
fn is_attached(view: &View<'_>, owner: &ObjectKey) -> bool {
    owner.kind == Kind::Gateway || matches!(*view.get(&PlaceOf { set: owner.clone() }), Place::Attached(_))
}

/// A Gateway as an entry of `status.ancestors` names it.
pub(super) fn reference(gateway: &ObjectKey) -> Option<ParentRef> {
    Some(ParentRef {
        group: Group::gateway_api(),
        kind: KindName::new(gateway.kind.as_str()).ok()?,
        namespace: Namespace::new(Arc::clone(&gateway.namespace)).ok(),
        name: ObjectName::new(Arc::clone(&gateway.name)).ok()?,
        section_name: None,
        port: None,
    })
}
