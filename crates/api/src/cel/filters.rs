//! Rules about filters.

use super::{CelRule, node::Node};
use crate::diagnostic::{Rule, Severity};

pub(crate) static FIELD_OF_OTHER_TYPE: Rule = Rule {
    code: "PC0220",
    severity: Severity::Error,
    summary: "a field that belongs to another type",
    hint: "remove the field, or set the type that it belongs to",
};

pub(crate) static FIELD_OF_TYPE_MISSING: Rule = Rule {
    code: "PC0221",
    severity: Severity::Error,
    summary: "the field that belongs to the type is missing",
    hint: "add the field that is named like the type, or set another type",
};

pub(crate) static FILTER_REPEATED: Rule = Rule {
    code: "PC0222",
    severity: Severity::Error,
    summary: "a filter that may occur once occurs twice",
    hint: "merge the filters into one, or distribute them over several rules",
};

pub(crate) static FILTERS_INCOMPATIBLE: Rule = Rule {
    code: "PC0223",
    severity: Severity::Error,
    summary: "things that cannot go together",
    hint: "keep one of them, or distribute them over several rules",
};

pub(crate) static PREFIX_NOT_MATCHED: Rule = Rule {
    code: "PC0224",
    severity: Severity::Error,
    summary: "a prefix is replaced that no match names",
    hint: "give the rule exactly one match, of path type PathPrefix, or use ReplaceFullPath",
};

pub(crate) static MIRROR_SHARE: Rule = Rule {
    code: "PC0232",
    severity: Severity::Error,
    summary: "the share of mirrored requests makes no sense",
    hint: "give either percent, or a fraction whose numerator is at most its denominator",
};

pub(crate) static CORS_WILDCARD: Rule = Rule {
    code: "PC0233",
    severity: Severity::Error,
    summary: "a list has * beside other values",
    hint: "keep * alone, or list the values one by one",
};

/// The two rules that tie a field to the type named like it.
macro_rules! field_of_type {
    ($field:literal, $type:literal, $other:ident $other_hash:literal, $missing:ident $missing_hash:literal) => {
        pub(crate) static $other: CelRule = CelRule {
            rule: &FIELD_OF_OTHER_TYPE,
            message: concat!($field, " needs type ", $type),
            upstream: $other_hash,
            holds: |this| !this.has($field) || this.text_of("type") == $type,
        };
        pub(crate) static $missing: CelRule = CelRule {
            rule: &FIELD_OF_TYPE_MISSING,
            message: concat!("type ", $type, " needs ", $field),
            upstream: $missing_hash,
            holds: |this| this.has($field) || this.text_of("type") != $type,
        };
    };
}
pub(crate) use field_of_type;

field_of_type!("cors", "CORS", CORS_TYPE "1b5e24ab", CORS_FIELD "53315200");
field_of_type!("requestHeaderModifier", "RequestHeaderModifier",
    REQUEST_HEADERS_TYPE "7b8cf868", REQUEST_HEADERS_FIELD "eb3032de");
field_of_type!("responseHeaderModifier", "ResponseHeaderModifier",
    RESPONSE_HEADERS_TYPE "c0838ca9", RESPONSE_HEADERS_FIELD "a900d763");
field_of_type!("requestMirror", "RequestMirror", MIRROR_TYPE "c2c4ceb3", MIRROR_FIELD "479cd4bf");
field_of_type!("requestRedirect", "RequestRedirect",
    REDIRECT_TYPE "bec67f21", REDIRECT_FIELD "96f72312");
field_of_type!("urlRewrite", "URLRewrite", REWRITE_TYPE "bc36c2fa", REWRITE_FIELD "769cafeb");
field_of_type!("extensionRef", "ExtensionRef",
    EXTENSION_TYPE "28f68457", EXTENSION_FIELD "32fcae1c");
field_of_type!("externalAuth", "ExternalAuth",
    EXTERNAL_AUTH_TYPE "c8cbd34f", EXTERNAL_AUTH_FIELD "3f23e50c");

field_of_type!("replaceFullPath", "ReplaceFullPath", FULL_PATH_TYPE "c04f03f4", FULL_PATH_FIELD "85716a2b");
field_of_type!("replacePrefixMatch", "ReplacePrefixMatch", PREFIX_TYPE "02cf2852", PREFIX_FIELD "4dba3b1d");

/// The rules of one filter of an HTTPRoute.
pub(crate) static HTTP_FILTER: &[&CelRule] = &[
    &CORS_TYPE,
    &CORS_FIELD,
    &REQUEST_HEADERS_TYPE,
    &REQUEST_HEADERS_FIELD,
    &RESPONSE_HEADERS_TYPE,
    &RESPONSE_HEADERS_FIELD,
    &MIRROR_TYPE,
    &MIRROR_FIELD,
    &REDIRECT_TYPE,
    &REDIRECT_FIELD,
    &REWRITE_TYPE,
    &REWRITE_FIELD,
    &EXTENSION_TYPE,
    &EXTENSION_FIELD,
    &EXTERNAL_AUTH_TYPE,
    &EXTERNAL_AUTH_FIELD,
];

/// The rules of one filter of a GRPCRoute.
pub(crate) static GRPC_FILTER: &[&CelRule] = &[
    &REQUEST_HEADERS_TYPE,
    &REQUEST_HEADERS_FIELD,
    &RESPONSE_HEADERS_TYPE,
    &RESPONSE_HEADERS_FIELD,
    &MIRROR_TYPE,
    &MIRROR_FIELD,
    &EXTENSION_TYPE,
    &EXTENSION_FIELD,
];

/// The rules of one filter of a listener.
pub(crate) static LISTENER_FILTER: &[&CelRule] =
    &[&EXTERNAL_AUTH_TYPE, &EXTERNAL_AUTH_FIELD, &EXTENSION_TYPE, &EXTENSION_FIELD];

/// The rules of a path modifier.
pub(crate) static PATH_MODIFIER: &[&CelRule] =
    &[&FULL_PATH_FIELD, &FULL_PATH_TYPE, &PREFIX_FIELD, &PREFIX_TYPE];

macro_rules! at_most_once {
    ($name:ident, $type:literal, $hash:literal) => {
        pub(crate) static $name: CelRule = CelRule {
            rule: &FILTER_REPEATED,
            message: concat!($type, " may occur only once"),
            upstream: $hash,
            holds: |filters| count(filters, $type) <= 1,
        };
    };
}

at_most_once!(CORS_ONCE, "CORS", "ee6a308c");
at_most_once!(REQUEST_HEADERS_ONCE, "RequestHeaderModifier", "501e61ba");
at_most_once!(RESPONSE_HEADERS_ONCE, "ResponseHeaderModifier", "226cc5e3");
at_most_once!(REDIRECT_ONCE, "RequestRedirect", "c1f6cb74");
at_most_once!(REWRITE_ONCE, "URLRewrite", "61ed15b8");

static REDIRECT_OR_REWRITE: CelRule = CelRule {
    rule: &FILTERS_INCOMPATIBLE,
    message: "RequestRedirect and URLRewrite cannot go together",
    upstream: "24c3fdad",
    holds: |filters| count(filters, "RequestRedirect") == 0 || count(filters, "URLRewrite") == 0,
};

/// The rules of a list of filters of an HTTPRoute.
pub(crate) static HTTP_FILTERS: &[&CelRule] = &[
    &REDIRECT_OR_REWRITE,
    &CORS_ONCE,
    &REQUEST_HEADERS_ONCE,
    &RESPONSE_HEADERS_ONCE,
    &REDIRECT_ONCE,
    &REWRITE_ONCE,
];

/// The rules of a list of filters of a GRPCRoute.
pub(crate) static GRPC_FILTERS: &[&CelRule] = &[&REQUEST_HEADERS_ONCE, &RESPONSE_HEADERS_ONCE];

fn count(filters: Node<'_>, filter_type: &str) -> usize {
    filters.items().filter(|filter| filter.text_of("type") == filter_type).count()
}

static REDIRECT_WITHOUT_BACKENDS: CelRule = CelRule {
    rule: &FILTERS_INCOMPATIBLE,
    message: "a rule that redirects has no use for backendRefs",
    upstream: "80d5779a",
    holds: |rule| {
        rule.size_of("backendRefs") == 0
            || !rule.items_of("filters").any(|filter| filter.has("requestRedirect"))
    },
};

macro_rules! prefix_is_matched {
    ($name:ident, $field:literal, $replaces:path, $where:literal, $hash:literal) => {
        static $name: CelRule = CelRule {
            rule: &PREFIX_NOT_MATCHED,
            message: concat!(
                $field,
                $where,
                " replaces the matched prefix, which needs exactly one match, of type PathPrefix"
            ),
            upstream: $hash,
            holds: |rule| !$replaces(rule, $field) || matches_one_prefix(rule),
        };
    };
}

prefix_is_matched!(REDIRECT_PREFIX, "requestRedirect", replaces_prefix, "", "14c17d52");
prefix_is_matched!(REWRITE_PREFIX, "urlRewrite", replaces_prefix, "", "0fa5a331");
prefix_is_matched!(
    BACKEND_REDIRECT_PREFIX,
    "requestRedirect",
    backend_replaces_prefix,
    " of a backend",
    "06e14dab"
);
prefix_is_matched!(
    BACKEND_REWRITE_PREFIX,
    "urlRewrite",
    backend_replaces_prefix,
    " of a backend",
    "bf9fd433"
);

/// The rules of a rule of an HTTPRoute.
pub(crate) static HTTP_RULE: &[&CelRule] = &[
    &REDIRECT_WITHOUT_BACKENDS,
    &REDIRECT_PREFIX,
    &REWRITE_PREFIX,
    &BACKEND_REDIRECT_PREFIX,
    &BACKEND_REWRITE_PREFIX,
];

/// Whether exactly one filter replaces the prefix. The CRDs say `exists_one`, so two such filters
/// (which another rule forbids) are none.
fn replaces_prefix(rule: Node<'_>, field: &str) -> bool {
    let replacing = rule.items_of("filters").filter(|filter| {
        let path = filter.get(field).and_then(|filter| filter.get("path"));
        path.is_some_and(|path| {
            path.text_of("type") == "ReplacePrefixMatch" && path.has("replacePrefixMatch")
        })
    });
    replacing.count() == 1
}

fn backend_replaces_prefix(rule: Node<'_>, field: &str) -> bool {
    let backends = rule.items_of("backendRefs");
    backends.filter(|backend| replaces_prefix(*backend, field)).count() == 1
}

fn matches_one_prefix(rule: Node<'_>) -> bool {
    let mut matches = rule.items_of("matches");
    let first = matches.next().and_then(|first| first.get("path"));
    first.is_some_and(|path| path.text_of("type") == "PathPrefix") && matches.next().is_none()
}

/// Either a percentage or a fraction.
pub(crate) static PERCENT_OR_FRACTION: CelRule = CelRule {
    rule: &MIRROR_SHARE,
    message: "percent and fraction cannot go together",
    upstream: "2179202e",
    holds: |mirror| !(mirror.has("percent") && mirror.has("fraction")),
};

/// No more than the whole.
pub(crate) static FRACTION_AT_MOST_ONE: CelRule = CelRule {
    rule: &MIRROR_SHARE,
    message: "numerator must not be greater than denominator",
    upstream: "c7c8b7bb",
    holds: |fraction| fraction.integer_of("numerator") <= fraction.integer_of("denominator"),
};

/// `*` stands alone, in any of the lists of the CORS filter.
pub(crate) static WILDCARD_ALONE: CelRule = CelRule {
    rule: &CORS_WILDCARD,
    message: "* must stand alone",
    upstream: "e2610261",
    holds: |list| list.items().count() <= 1 || !list.items().any(|item| item.text() == "*"),
};

/// Rules that tie the details of an authorisation service to its protocol.
macro_rules! field_of_protocol {
    ($field:literal, $protocol:literal, $other:ident $other_hash:literal, $missing:ident $missing_hash:literal) => {
        static $other: CelRule = CelRule {
            rule: &FIELD_OF_OTHER_TYPE,
            message: concat!($field, " needs protocol ", $protocol),
            upstream: $other_hash,
            holds: |auth| !auth.has($field) || auth.text_of("protocol") == $protocol,
        };
        static $missing: CelRule = CelRule {
            rule: &FIELD_OF_TYPE_MISSING,
            message: concat!("protocol ", $protocol, " needs ", $field),
            upstream: $missing_hash,
            holds: |auth| auth.has($field) || auth.text_of("protocol") != $protocol,
        };
    };
}

field_of_protocol!("grpc", "GRPC", AUTH_GRPC_TYPE "1add1dca", AUTH_GRPC_FIELD "fbee517e");
field_of_protocol!("http", "HTTP", AUTH_HTTP_TYPE "e2083e9f", AUTH_HTTP_FIELD "43a774e0");

/// The rules of an authorisation filter.
pub(crate) static EXTERNAL_AUTH: &[&CelRule] =
    &[&AUTH_GRPC_FIELD, &AUTH_GRPC_TYPE, &AUTH_HTTP_FIELD, &AUTH_HTTP_TYPE];
