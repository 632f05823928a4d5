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

/// Whether a policy demands TLS to a port of a Service, by the port's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guard {
    pub(crate) service: ObjectKey,
    pub(crate) port: Arc<str>,
}

impl Query for Guard {
    type Value = bool;

    fn compute(&self, view: &View<'_>) -> bool {
        let policies = view.attached(Kind::BackendTlsPolicy, &self.service);
        policies.iter().filter_map(|key| view.backend_tls_policy(key)).any(|policy| {
            targets(&policy, &self.service).any(|section| section.is_none_or(|name| name == &*self.port))
        })
    }
}

/// The sections of a Service that a policy names; nothing is the whole Service.
fn targets<'a>(
    policy: &'a BackendTlsPolicy,
    service: &'a ObjectKey,
) -> impl Iterator<Item = Option<&'a str>> {
    let of_service = policy.spec.target_refs.iter().filter(|target| {
        Kind::of(target.group.as_str(), target.kind.as_str()) == Some(Kind::Service)
            && target.name.as_str() == &*service.name
    });
    of_service.map(|target| target.section_name.as_ref().map(SectionName::as_str))
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
            if Kind::of(target.group.as_str(), target.kind.as_str()) == Some(Kind::Service) {
                let service =
                    ObjectKey::new(Kind::Service, Arc::clone(&self.key.namespace), target.name.shared());
                gateways.extend(view.get(&GatewaysTo { service }).iter().cloned());
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

/// The Gateways of ours whose HTTPRoutes lead to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GatewaysTo {
    service: ObjectKey,
}

impl Query for GatewaysTo {
    type Value = BTreeSet<(ObjectKey, ControllerName)>;

    fn compute(&self, view: &View<'_>) -> BTreeSet<(ObjectKey, ControllerName)> {
        let mut gateways = BTreeSet::new();
        for route in view.referring(Kind::HttpRoute, &self.service) {
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
