//! The rules of admission that are not particular to one field.

use crate::diagnostic::{Rule, Severity};

macro_rules! rules {
    ($($(#[$meta:meta])* $name:ident = $code:literal $severity:ident: $summary:literal, $hint:literal;)+) => {
        $(
            $(#[$meta])*
            pub static $name: Rule = Rule {
                code: $code,
                severity: Severity::$severity,
                summary: $summary,
                hint: $hint,
            };
        )+

        /// The rules of this module.
        static GENERAL: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    /// Neither `apiVersion` nor `kind`, or one of them.
    NO_KIND = "PC0200" Error: "not a Kubernetes object",
        "write apiVersion and kind, as in apiVersion: gateway.networking.k8s.io/v1";
    /// A kind that Portcullis does not read.
    KIND_NOT_READ = "PC0201" Info: "a kind that Portcullis does not read",
        "nothing to do: the object has no effect here";
    /// A kind that a group of ours does not have, or that has no effect yet.
    KIND_WITHOUT_EFFECT = "PC0202" Warning: "a kind that has no effect",
        "remove the object, or correct its apiVersion and kind";
    /// A version that is not served.
    VERSION_NOT_SERVED = "PC0203" Error: "a version that is not served",
        "use a version that the message names";
    /// A field that the kind does not have.
    UNKNOWN_FIELD = "PC0204" Warning: "an unknown field",
        "the field has no effect: remove it, or correct its name";
    /// A field that must be there.
    REQUIRED = "PC0205" Error: "a required field is missing",
        "add the field";
    /// A value of another type.
    WRONG_TYPE = "PC0206" Error: "a value of the wrong type",
        "write the value as the type that the message names";
    /// A value that is not among those possible.
    NOT_SUPPORTED = "PC0207" Error: "a value that does not exist",
        "use one of the values that the message names";
    /// A text that does not match its pattern.
    PATTERN = "PC0208" Error: "a text of the wrong form",
        "write the value in the form that the message names";
    /// A text with too few characters.
    TOO_SHORT = "PC0209" Error: "a text that is too short",
        "write a longer text, or leave the field out";
    /// A text with too many characters.
    TOO_LONG = "PC0210" Error: "a text that is too long",
        "shorten the text";
    /// Too few items.
    TOO_FEW = "PC0211" Error: "too few entries",
        "add an entry";
    /// Too many items or properties.
    TOO_MANY = "PC0212" Error: "too many entries",
        "remove entries, or distribute them over several objects";
    /// A number out of its range.
    OUT_OF_RANGE = "PC0213" Error: "a number out of range",
        "use a number within the range that the message names";
    /// Two entries that may not both be there.
    DUPLICATE = "PC0214" Error: "an entry occurs twice",
        "remove one of the entries, or rename it";
    /// Metadata that no object can have.
    METADATA = "PC0215" Error: "metadata that no object can have",
        "names are lower case letters, digits, - and ., beginning and ending with a letter or digit";
    /// A namespace where there can be none.
    CLUSTER_WIDE = "PC0216" Warning: "the kind has no namespaces",
        "remove metadata.namespace: it has no effect";
    /// What passes admission and does not fit its type. It should not happen.
    UNREADABLE = "PC0217" Error: "a value that cannot be read",
        "correct the value; if an API server takes it, please report it";
    /// A Service, EndpointSlice, Secret or the like that an API server would refuse.
    CORE_OBJECT = "PC0218" Error: "an object that an API server would refuse",
        "correct the field that the message names";
    /// Endpoints that a cluster would not take.
    LOOPBACK_ENDPOINT = "PC0219" Info: "a loopback address among endpoints",
        "nothing to do here: the address is used; a cluster would refuse the EndpointSlice";
    /// A kind that the Gateway API does not have, or one of its kinds under another group.
    NO_SUCH_KIND = "PC0247" Error: "a kind that does not exist",
        "correct apiVersion and kind, or remove the object";
}

/// After these the API server runs no CEL rules.
pub(super) static BLOCKING: &[&Rule] = &[&REQUIRED, &WRONG_TYPE, &NOT_SUPPORTED, &TOO_LONG, &TOO_MANY];

/// Every rule of admission, in the order of their codes.
pub fn all() -> Vec<&'static Rule> {
    use crate::cel::{backends, filters, gateways, grpc, listeners, paths, policies, references, routes};
    let particular: &[&'static Rule] = &[
        &filters::FIELD_OF_OTHER_TYPE,
        &filters::FIELD_OF_TYPE_MISSING,
        &filters::FILTER_REPEATED,
        &filters::FILTERS_INCOMPATIBLE,
        &filters::PREFIX_NOT_MATCHED,
        &filters::MIRROR_SHARE,
        &filters::CORS_WILDCARD,
        &paths::PATH_VALUE,
        &grpc::METHOD_MATCH,
        &routes::TOO_MANY_MATCHES,
        &routes::RULE_NAME_REPEATED,
        &routes::TIMEOUTS,
        &routes::TLS_ROUTE_HOSTNAME,
        &references::PARENT_REFS,
        &references::BACKEND_PORT,
        &references::TARGET_REFS,
        &references::CA_NAMESPACE,
        &listeners::LISTENER_TLS,
        &listeners::LISTENER_HOSTNAME,
        &listeners::LISTENERS_DISTINCT,
        &listeners::LISTENER_FILTERS,
        &gateways::ADDRESS,
        &gateways::INFRASTRUCTURE_KEYS,
        &gateways::FRONTEND_PORTS,
        &policies::CA_SOURCE,
        &backends::ENDPOINTS,
        &backends::TLS,
    ];
    let mut rules: Vec<_> = GENERAL.iter().chain(particular).copied().collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_of_admission_and_each_means_one_thing() {
        let rules = all();
        assert!(rules.iter().all(|rule| rule.code.starts_with("PC02")));
        assert!(rules.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
