//! What is said about a policy.

use portcullis_api::k8s_openapi::api::core::v1::ServicePort;
use portcullis_api::references::PolicyTargetRef;
use portcullis_api::status::{Condition, PolicyAncestorStatus, PolicyStatus};
use portcullis_api::{FieldPath, Kind, ObjectKey};

use super::ancestors::reference;
use super::meaning::{Meaning, PolicyMeaning};
use super::room::Concerned;
use super::targets::{Claimants, Target};
use crate::causes::{POLICY_CONFLICTED, POLICY_INVALID, POLICY_TARGET};
use crate::finding::{Conditions, Finding, condition, messages};
use crate::memo::Query;
use crate::outcome::{Outcome, Status};
use crate::view::View;

/// The status of a BackendTLSPolicy: an entry for each Gateway of ours whose routes lead to a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PolicyOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for PolicyOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(policy) = view.backend_tls_policy(&self.key) else { return Outcome::default() };
        let meaning = view.get(&Meaning { policy: self.key.clone() });
        let faults = faults(view, &self.key, &policy.spec.target_refs);
        let conditions = conditions(
            policy.metadata.generation.unwrap_or(1),
            &faults,
            policy.spec.target_refs.len(),
            &meaning,
        );
        let status = status(view, &self.key, &conditions);
        let mut findings = faults;
        findings.extend(meaning.refusals.iter().chain(&meaning.unresolved).chain(&meaning.notes).cloned());
        Outcome::new(&self.key, Some(Status::Policy(status)), &findings)
    }
}

/// The status of a policy that admission refuses.
pub(crate) fn refused_status(view: &View<'_>, key: &ObjectKey, conditions: &[Condition]) -> PolicyStatus {
    status(view, key, conditions)
}

/// The same conditions for each Gateway that leads to a target and has room in the list.
fn status(view: &View<'_>, policy: &ObjectKey, conditions: &[Condition]) -> PolicyStatus {
    let concerned = view.get(&Concerned { policy: policy.clone() });
    let ancestors = concerned.listed.iter().filter_map(|(gateway, controller)| {
        Some(PolicyAncestorStatus {
            ancestor_ref: reference(gateway)?,
            controller_name: controller.clone(),
            conditions: conditions.to_vec(),
        })
    });
    PolicyStatus { ancestors: ancestors.collect() }
}

/// A policy that governs one of its targets is accepted, if it can be enforced.
fn conditions(
    generation: i64,
    faults: &[Finding],
    targets: usize,
    meaning: &PolicyMeaning,
) -> Vec<Condition> {
    let mut conditions = Conditions::at(generation);
    let refusals = if faults.len() == targets { faults } else { &meaning.refusals };
    let conflict = refusals.iter().find(|finding| finding.cause == &POLICY_CONFLICTED);
    match conflict.or(refusals.first()) {
        Some(first) => conditions.no(condition::ACCEPTED, first.cause.reason, messages(refusals)),
        None => conditions.yes(condition::ACCEPTED, "Accepted", "the policy is accepted"),
    }
    let resolved = "all references are resolved";
    conditions.resolved(condition::RESOLVED_REFS, "ResolvedRefs", resolved, &meaning.unresolved);
    conditions.finish()
}

/// Why a policy does not govern its targets: one finding for each such target.
fn faults(view: &View<'_>, policy: &ObjectKey, references: &[PolicyTargetRef]) -> Vec<Finding> {
    let path = FieldPath::of("spec").field("targetRefs");
    let faults = references.iter().enumerate().filter_map(|(index, reference)| {
        let fault = match Target::of(reference, &policy.namespace) {
            Some(target) => missing(view, &target).or_else(|| lost(view, policy, target)),
            None => Some((&POLICY_TARGET, format!("{} {} is no backend", reference.kind, reference.name))),
        };
        fault.map(|(cause, message)| Finding::new(cause, path.index(index), message))
    });
    faults.collect()
}

type Fault = (&'static crate::causes::Cause, String);

/// Nothing to govern: the target, or a port of it that TLS could be spoken to, is not there.
fn missing(view: &View<'_>, target: &Target) -> Option<Fault> {
    let backend = &target.backend;
    if view.object(backend).is_none() {
        return Some((&POLICY_TARGET, format!("{backend} does not exist")));
    }
    if backend.kind != Kind::Service {
        return None;
    }
    let service = view.service(backend)?;
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let named =
        |port: &&ServicePort| target.section.is_none() || port.name.as_deref() == target.section.as_deref();
    let mut ports = ports.iter().filter(named).peekable();
    if ports.peek().is_none() {
        let port = target.section.as_deref().unwrap_or_default();
        return Some((&POLICY_TARGET, format!("{backend} has no port called {port:?}")));
    }
    let is_tcp = |port: &ServicePort| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP");
    (!ports.any(is_tcp))
        .then(|| (&POLICY_INVALID, format!("TLS cannot be spoken to {backend}: it is not TCP")))
}

/// Another policy governs the target.
fn lost(view: &View<'_>, policy: &ObjectKey, target: Target) -> Option<Fault> {
    let backend = target.backend.clone();
    let claimants = view.get(&Claimants { target });
    let first = claimants.first().filter(|first| *first != policy)?;
    Some((&POLICY_CONFLICTED, format!("{first} governs {backend}")))
}
