//! BackendTLSPolicies: TLS to backends cannot be spoken yet, so what they guard gets no traffic.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::backend_tls_policy::BackendTlsPolicy;
use portcullis_api::names::{Group, KindName, Namespace, ObjectName, SectionName};
use portcullis_api::references::ParentRef;
use portcullis_api::status::{ControllerName, PolicyAncestorStatus, PolicyStatus};
use portcullis_api::{FieldPath, Kind, ObjectKey};

use crate::attachment::Attachments;
use crate::causes::POLICY_UNSUPPORTED;
use crate::finding::{Conditions, Finding, condition};
use crate::listeners::parent_of;
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// Whether a policy demands TLS to a Service's port, by the port's name, or to a `Backend`, which has no names for
/// its ports: any section of it is the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guard {
    pub(crate) backend: ObjectKey,
    pub(crate) port: Option<Arc<str>>,
}

impl Query for Guard {
    type Value = bool;

    fn compute(&self, view: &View<'_>) -> bool {
        let policies = view.attached(Kind::BackendTlsPolicy, &self.backend);
        policies.iter().filter_map(|key| view.backend_tls_policy(key)).any(|policy| {
            targets(&policy, &self.backend).any(|section| match (section, &self.port) {
                (Some(section), Some(port)) => section == &**port,
                (None, _) | (_, None) => true,
            })
        })
    }
}

/// The sections of a backend that a policy names; nothing is the whole backend.
fn targets<'a>(
    policy: &'a BackendTlsPolicy,
    backend: &'a ObjectKey,
) -> impl Iterator<Item = Option<&'a str>> {
    let of_backend = policy.spec.target_refs.iter().filter(|target| {
        Kind::of(target.group.as_str(), target.kind.as_str()) == Some(backend.kind)
            && target.name.as_str() == &*backend.name
    });
    of_backend.map(|target| target.section_name.as_ref().map(SectionName::as_str))
}

/// The status of a BackendTLSPolicy: an entry for each Gateway of ours whose routes lead to a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PolicyOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for PolicyOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(policy) = view.backend_tls_policy(&self.key) else { return Outcome::default() };
        let mut gateways: BTreeSet<(ObjectKey, ControllerName)> = BTreeSet::new();
        for target in &policy.spec.target_refs {
            let kind = Kind::of(target.group.as_str(), target.kind.as_str());
            if let Some(kind) = kind.filter(|kind| matches!(kind, Kind::Service | Kind::Backend)) {
                let backend = ObjectKey::new(kind, Arc::clone(&self.key.namespace), target.name.shared());
                gateways.extend(view.get(&GatewaysTo { backend }).iter().cloned());
            }
        }
        let finding = Finding::plain(&POLICY_UNSUPPORTED, FieldPath::of("spec"));
        let generation = policy.metadata.generation.unwrap_or(1);
        let ancestors = gateways.iter().filter_map(|(gateway, controller)| {
            let mut conditions = Conditions::at(generation);
            conditions.no(condition::ACCEPTED, finding.cause.reason, finding.message.clone());
            conditions.pending(condition::RESOLVED_REFS, "a policy that is not accepted is not looked into");
            Some(PolicyAncestorStatus {
                ancestor_ref: reference(gateway)?,
                controller_name: controller.clone(),
                conditions: conditions.finish(),
            })
        });
        let status = PolicyStatus { ancestors: ancestors.collect() };
        Outcome::new(&self.key, Some(Status::Policy(status)), &[finding])
    }
}

fn reference(gateway: &ObjectKey) -> Option<ParentRef> {
    Some(ParentRef {
        group: Group::gateway_api(),
        kind: KindName::new(gateway.kind.as_str()).ok()?,
        namespace: Namespace::new(Arc::clone(&gateway.namespace)).ok(),
        name: ObjectName::new(Arc::clone(&gateway.name)).ok()?,
        section_name: None,
        port: None,
    })
}

/// The Gateways of ours whose routes lead to a backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GatewaysTo {
    backend: ObjectKey,
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
