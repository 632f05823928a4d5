//! Rules about BackendTLSPolicies.

use super::{
    CelRule,
    filters::{FIELD_OF_OTHER_TYPE, FIELD_OF_TYPE_MISSING},
};
use crate::diagnostic::{Rule, Severity};

pub(crate) static CA_SOURCE: Rule = Rule {
    code: "PC0243",
    severity: Severity::Error,
    summary: "it is unclear which CA certificates to trust",
    hint: "give either caCertificateRefs or wellKnownCACertificates",
};

/// Exactly one source of CA certificates.
pub(crate) static ONE_CA_SOURCE: CelRule = CelRule {
    rule: &CA_SOURCE,
    message: "exactly one of caCertificateRefs and wellKnownCACertificates must be given",
    upstream: "7a4c8606",
    holds: |validation| validation.has("caCertificateRefs") != validation.has("wellKnownCACertificates"),
};

macro_rules! name_of_type {
    ($field:literal, $type:literal, $missing:ident $missing_hash:literal, $other:ident $other_hash:literal) => {
        static $missing: CelRule = CelRule {
            rule: &FIELD_OF_TYPE_MISSING,
            message: concat!("type ", $type, " needs ", $field),
            upstream: $missing_hash,
            holds: |name| name.text_of("type") != $type || !name.text_of($field).is_empty(),
        };
        static $other: CelRule = CelRule {
            rule: &FIELD_OF_OTHER_TYPE,
            message: concat!($field, " needs type ", $type),
            upstream: $other_hash,
            holds: |name| name.text_of("type") == $type || name.text_of($field).is_empty(),
        };
    };
}

name_of_type!("hostname", "Hostname", HOSTNAME_FIELD "9f2f8a20", HOSTNAME_TYPE "b8b9b475");
name_of_type!("uri", "URI", URI_FIELD "6f0bb440", URI_TYPE "3aadac42");

/// The rules of a subject alternative name.
pub(crate) static SUBJECT_ALT_NAME: &[&CelRule] = &[&HOSTNAME_FIELD, &HOSTNAME_TYPE, &URI_FIELD, &URI_TYPE];
