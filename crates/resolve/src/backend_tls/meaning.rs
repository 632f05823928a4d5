//! What a policy demands.

use std::sync::Arc;

use portcullis_api::backend_tls_policy::{
    BackendTlsPolicySpec, BackendTlsValidation, SubjectAltName, SubjectAltNameType, WellKnownCaCertificates,
};
use portcullis_api::{FieldPath, ObjectKey};
use portcullis_model::{CaBundle, CaSet, HostPattern, Hostname, SubjectName, Trust, UpstreamTls};

use crate::authorities::{self, Authorities};
use crate::causes::{
    LISTENER_OPTION_DROPPED, LISTENER_OPTION_FOREIGN, POLICY_CA_KIND, POLICY_CA_REF, POLICY_INVALID,
    POLICY_NO_CA,
};
use crate::finding::Finding;
use crate::memo::Query;
use crate::origin::origin;
use crate::tls_options;
use crate::view::View;

/// What a BackendTLSPolicy demands, whatever it targets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Meaning {
    pub(super) policy: ObjectKey,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyMeaning {
    /// Nothing if it cannot be enforced.
    pub(super) tls: Option<Arc<UpstreamTls>>,
    /// Why it cannot.
    pub(super) refusals: Vec<Finding>,
    /// References that do not resolve.
    pub(super) unresolved: Vec<Finding>,
    /// What is worth knowing.
    pub(super) notes: Vec<Finding>,
}

impl Query for Meaning {
    type Value = PolicyMeaning;

    fn compute(&self, view: &View<'_>) -> PolicyMeaning {
        let Some(policy) = view.backend_tls_policy(&self.policy) else { return PolicyMeaning::default() };
        let mut reader = Reader { view, policy: &self.policy, meaning: PolicyMeaning::default() };
        let tls = reader.read(&policy.spec);
        let mut meaning = reader.meaning;
        meaning.tls = tls.filter(|_| meaning.refusals.is_empty()).map(Arc::new);
        meaning
    }
}

struct Reader<'a> {
    view: &'a View<'a>,
    policy: &'a ObjectKey,
    meaning: PolicyMeaning,
}

impl Reader<'_> {
    fn read(&mut self, spec: &BackendTlsPolicySpec) -> Option<UpstreamTls> {
        let path = FieldPath::of("spec").field("validation");
        let validation = &spec.validation;
        let trust = self.trust(validation, &path);
        let names = self.names(&validation.subject_alt_names, &path.field("subjectAltNames"));
        let options = self.options(spec);
        let hostname = Hostname::new(validation.hostname.as_str());
        let origin = origin(self.policy);
        Some(UpstreamTls { origin, hostname: hostname?, names, trust: trust?, options: options? })
    }

    fn refuse(&mut self, path: FieldPath, message: String) {
        self.meaning.refusals.push(Finding::new(&POLICY_INVALID, path, message));
    }

    fn trust(&mut self, validation: &BackendTlsValidation, path: &FieldPath) -> Option<Trust> {
        match &validation.well_known_ca_certificates {
            Some(WellKnownCaCertificates::System) => return Some(Trust::System),
            Some(other) => {
                let path = path.field("wellKnownCACertificates");
                self.refuse(path, format!("there are no well-known CA certificates called {other}"));
                return None;
            }
            None => {}
        }
        let path = path.field("caCertificateRefs");
        let mut bundles = Vec::new();
        for (index, reference) in validation.ca_certificate_refs.iter().enumerate() {
            let (group, kind) = (reference.group.as_str(), reference.kind.as_str());
            match self.bundle(group, kind, reference.name.shared()) {
                Ok(bundle) => bundles.push(bundle),
                Err((cause, message)) => {
                    self.meaning.unresolved.push(Finding::new(cause, path.index(index), message));
                }
            }
        }
        let set = CaSet::new(bundles);
        if set.is_none() {
            self.meaning.refusals.push(Finding::plain(&POLICY_NO_CA, path));
        }
        Some(Trust::Given(Arc::new(set?)))
    }

    fn bundle(
        &self,
        group: &str,
        kind: &str,
        name: Arc<str>,
    ) -> Result<Arc<CaBundle>, (&'static crate::causes::Cause, String)> {
        let known = authorities::kind_of(self.view, group, kind).ok_or_else(|| {
            (&POLICY_CA_KIND, format!("{kind} {name} is of a kind that holds no CA certificates"))
        })?;
        let object = ObjectKey::new(known, Arc::clone(&self.policy.namespace), name);
        (*self.view.get(&Authorities { object })).clone().map_err(|why| (&POLICY_CA_REF, why))
    }

    fn names(&mut self, names: &[SubjectAltName], path: &FieldPath) -> Vec<SubjectName> {
        let mut read = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            match (&name.name_type, &name.hostname, &name.uri) {
                (SubjectAltNameType::Hostname, Some(hostname), _) => {
                    read.push(SubjectName::Dns(HostPattern::parse(hostname.as_str())));
                }
                (SubjectAltNameType::Uri, _, Some(uri)) => read.push(SubjectName::Uri(uri.shared())),
                (name_type, ..) => {
                    let message = format!("a name of type {name_type} cannot be checked");
                    self.refuse(path.index(index), message);
                }
            }
        }
        read
    }

    fn options(&mut self, spec: &BackendTlsPolicySpec) -> Option<portcullis_model::TlsOptions> {
        let path = FieldPath::of("spec").field("options");
        let notes = &mut self.meaning.notes;
        match tls_options::parse_for_backends(&spec.options, &self.view.engine().capabilities) {
            Ok(options) => {
                for key in &options.foreign {
                    let message = format!("the option {key} is another implementation's and has no effect");
                    notes.push(Finding::new(&LISTENER_OPTION_FOREIGN, path.key(key), message));
                }
                for dropped in &options.dropped {
                    let message = format!("left out, since the engine lacks it: {dropped}");
                    notes.push(Finding::new(&LISTENER_OPTION_DROPPED, path.clone(), message));
                }
                Some(options.options)
            }
            Err(faults) => {
                for fault in faults {
                    self.refuse(path.key(&fault.key), format!("option {fault}"));
                }
                None
            }
        }
    }
}
