//! Which policy governs a backend.

use std::sync::Arc;

use portcullis_api::backend_tls_policy::BackendTlsPolicy;
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_api::names::SectionName;
use portcullis_api::references::PolicyTargetRef;
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::UpstreamTls;
use portcullis_store::Refusal;

use super::meaning::Meaning;
use crate::age::Seniority;
use crate::memo::Query;
use crate::view::View;

/// What a policy targets: a backend, or a port of it by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) backend: ObjectKey,
    pub(super) section: Option<Arc<str>>,
}

impl Target {
    /// What a reference means in a policy of this namespace; nothing for kinds that are no backends.
    ///
    /// A `Backend` has no names for its ports: whichever section is named, it is the whole.
    pub(super) fn of(reference: &PolicyTargetRef, namespace: &Arc<str>) -> Option<Target> {
        let kind = Kind::of(reference.group.as_str(), reference.kind.as_str())?;
        let backend = ObjectKey::new(kind, Arc::clone(namespace), reference.name.shared());
        Self::within(backend, reference.section_name.as_ref().map(SectionName::shared))
    }

    fn within(backend: ObjectKey, section: Option<Arc<str>>) -> Option<Target> {
        let section = match backend.kind {
            Kind::Service => section,
            Kind::Backend => None,
            _ => return None,
        };
        Some(Target { backend, section })
    }
}

/// The policies that target exactly this, in order of precedence: the oldest, then by `namespace/name`. One that
/// admission refuses is among them: whoever wrote it wanted TLS.
///
/// Source: `BackendTLSPolicySpec.targetRefs` field documentation; GEP-713, "Conflict resolution".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claimants {
    pub(super) target: Target,
}

impl Query for Claimants {
    type Value = Vec<ObjectKey>;

    fn compute(&self, view: &View<'_>) -> Vec<ObjectKey> {
        let keys = view.attached(Kind::BackendTlsPolicy, &self.target.backend);
        let read = |key: &ObjectKey| match view.backend_tls_policy(key) {
            Some(policy) => targets(key, &policy)
                .any(|target| target == self.target)
                .then(|| Seniority::of(key, &policy.metadata)),
            None => {
                let refusal = view.refusal(key)?;
                let metadata = refusal.written.get("metadata").cloned().map(serde_json::from_value);
                let metadata: ObjectMeta = metadata.and_then(Result::ok).unwrap_or_default();
                written_targets(key, refusal)
                    .any(|target| target == self.target)
                    .then(|| Seniority::of(key, &metadata))
            }
        };
        let mut claimants: Vec<Seniority> = keys.iter().filter_map(read).collect();
        claimants.sort();
        claimants.into_iter().map(|claimant| claimant.key).collect()
    }
}

/// What a policy targets.
pub(super) fn targets(key: &ObjectKey, policy: &BackendTlsPolicy) -> impl Iterator<Item = Target> {
    policy.spec.target_refs.iter().filter_map(|reference| Target::of(reference, &key.namespace))
}

/// What a policy that admission refuses targets, as far as that can be read.
pub(super) fn written_targets(key: &ObjectKey, refusal: &Refusal) -> impl Iterator<Item = Target> {
    refusal.targets(key).into_iter().filter_map(|(backend, section)| Target::within(backend, section))
}

/// How TLS is spoken to a backend's port, by the port's name; nothing if no policy governs it, and why it cannot be
/// spoken if the policy that does cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BackendTls {
    pub(crate) backend: ObjectKey,
    pub(crate) port: Option<Arc<str>>,
}

impl Query for BackendTls {
    type Value = Option<Result<Arc<UpstreamTls>, Arc<str>>>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let first = |section: Option<Arc<str>>| {
            let target = Target { backend: self.backend.clone(), section };
            view.get(&Claimants { target }).first().cloned()
        };
        // A policy for the port goes before one for the whole.
        let section = self.port.clone().filter(|port| !port.is_empty());
        let policy = section.and_then(|port| first(Some(port))).or_else(|| first(None))?;
        let meaning = view.get(&Meaning { policy: policy.clone() });
        Some(meaning.tls.clone().ok_or_else(|| format!("{policy} demands TLS that cannot be spoken").into()))
    }
}
