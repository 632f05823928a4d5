//! The Gateways that a policy concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::ObjectKey;
use portcullis_api::names::{Group, KindName, Namespace, ObjectName};
use portcullis_api::references::ParentRef;
use portcullis_api::status::ControllerName;

use crate::attachment::Attachments;
use crate::listeners::parent_of;
use crate::memo::Query;
use crate::view::View;

/// The Gateways of ours whose routes lead to a backend.
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
        gateways
    }
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
