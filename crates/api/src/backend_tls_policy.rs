//! [`BackendTlsPolicy`].

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cel::{policies, references},
    hostname::{Hostname, PreciseHostname},
    patterns::{URI, WELL_KNOWN_CA},
    references::{LocalObjectRef, PolicyTargetRef},
    resource::resource,
    schema::{Required, object, open_enum},
    status::PolicyStatus,
    text::{TextLimits, text},
};

resource! {
    /// How to speak TLS to backends. Source: GEP-1897.
    pub struct BackendTlsPolicy: BackendTlsPolicy {
        spec: BackendTlsPolicySpec,
        status: PolicyStatus,
    }
}

object! {
    /// Which backends, and how they are checked.
    #[derive(Eq)]
    pub struct BackendTlsPolicySpec {
        /// The backends.
        pub target_refs as "targetRefs": Vec<PolicyTargetRef> [
            .items(1, 16).rules(references::TARGETS)
        ] = Required,
        /// How they are checked.
        pub validation: BackendTlsValidation,
        /// Options of the implementation.
        pub options: BTreeMap<Arc<str>, Arc<str>> [.max_properties(16).max_length(4096)],
    }
}

object! {
    /// How backends are checked.
    #[derive(Eq)]
    pub struct BackendTlsValidation {
        /// The CA certificates that they must descend from.
        pub ca_certificate_refs as "caCertificateRefs": Vec<LocalObjectRef> [.items(1, 8)],
        /// The CA certificates by a well-known name, instead.
        pub well_known_ca_certificates as "wellKnownCACertificates":
            Option<WellKnownCaCertificates>,
        /// The server name to send, and to expect unless `subject_alt_names` are given.
        pub hostname: PreciseHostname,
        /// The names to expect, instead.
        pub subject_alt_names as "subjectAltNames": Vec<SubjectAltName> [.max_items(5)],
    }
    rules &[&policies::ONE_CA_SOURCE]
}

open_enum! {
    /// Well-known sets of CA certificates.
    pub enum WellKnownCaCertificates limits TextLimits::NONE.min_length(1).max_length(253).pattern(&WELL_KNOWN_CA); {
        /// Those of the operating system.
        System = "System",
    }
}

text! {
    /// A URI with scheme and authority.
    pub struct Uri { min_length: 1, max_length: 253, pattern: &URI }
}

object! {
    /// A name in a certificate.
    #[derive(Eq)]
    pub struct SubjectAltName {
        /// Which of the fields applies.
        pub name_type as "type": SubjectAltNameType,
        /// A DNS name, perhaps with wildcard.
        pub hostname: Option<Hostname>,
        /// A URI, such as a SPIFFE ID.
        pub uri: Option<Uri>,
    }
    rules policies::SUBJECT_ALT_NAME
}

open_enum! {
    /// Types of names in certificates.
    pub enum SubjectAltNameType {
        /// `hostname` applies.
        Hostname = "Hostname",
        /// `uri` applies.
        Uri = "URI",
    }
}
