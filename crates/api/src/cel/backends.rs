//! Rules about Envoy Gateway's Backends.

use super::{CelRule, node::Node};
use crate::diagnostic::{Rule, Severity};

pub(crate) static ENDPOINTS: Rule = Rule {
    code: "PC0245",
    severity: Severity::Error,
    summary: "a Backend's endpoints are not possible",
    hint: "give each endpoint one of fqdn, ip and unix, and keep fqdn apart from the others",
};

pub(crate) static TLS: Rule = Rule {
    code: "PC0246",
    severity: Severity::Error,
    summary: "a Backend's tls contradicts itself",
    hint: "keep one of the settings that the message names",
};

fn is_dynamic(spec: Node<'_>) -> bool {
    spec.text_of("type") == "DynamicResolver"
}

fn takes_sni_from_endpoint(spec: Node<'_>) -> bool {
    spec.get("tls").is_some_and(|tls| tls.is_set("autoSNIFromEndpointHostname"))
}

static DYNAMIC_WITHOUT_ENDPOINTS: CelRule = CelRule {
    rule: &ENDPOINTS,
    message: "type DynamicResolver has no endpoints",
    upstream: "20ebde41",
    holds: |spec| !is_dynamic(spec) || !spec.has("endpoints"),
};

static DYNAMIC_WITHOUT_ENDPOINT_SNI: CelRule = CelRule {
    rule: &TLS,
    message: "type DynamicResolver has no endpoints to take autoSNIFromEndpointHostname from",
    upstream: "e0996c61",
    holds: |spec| !is_dynamic(spec) || !takes_sni_from_endpoint(spec),
};

static ENDPOINT_SNI_HAS_HOSTNAMES: CelRule = CelRule {
    rule: &TLS,
    message: "autoSNIFromEndpointHostname needs endpoints, those by ip and unix with a hostname",
    upstream: "9f8a9d1d",
    holds: |spec| {
        !takes_sni_from_endpoint(spec)
            || spec.has("endpoints")
                && spec.items_of("endpoints").all(|e| !e.has("ip") && !e.has("unix") || e.has("hostname"))
    },
};

/// The rules of a Backend.
pub(crate) static BACKEND: &[&CelRule] =
    &[&DYNAMIC_WITHOUT_ENDPOINTS, &DYNAMIC_WITHOUT_ENDPOINT_SNI, &ENDPOINT_SNI_HAS_HOSTNAMES];

/// Names are not mixed with addresses and sockets.
pub(crate) static FQDN_UNMIXED: CelRule = CelRule {
    rule: &ENDPOINTS,
    message: "endpoints by fqdn cannot be mixed with others",
    upstream: "182722a5",
    holds: |endpoints| endpoints.items().all(|e| e.has("fqdn")) || !endpoints.items().any(|e| e.has("fqdn")),
};

fn ways(endpoint: Node<'_>) -> usize {
    ["fqdn", "ip", "unix"].iter().filter(|way| endpoint.has(way)).count()
}

static SOME_WAY: CelRule = CelRule {
    rule: &ENDPOINTS,
    message: "an endpoint needs one of fqdn, ip and unix",
    upstream: "49a51690",
    holds: |endpoint| ways(endpoint) > 0,
};

static ONE_WAY: CelRule = CelRule {
    rule: &ENDPOINTS,
    message: "an endpoint has exactly one of fqdn, ip and unix",
    upstream: "679c2a98",
    holds: |endpoint| ways(endpoint) == 1,
};

/// The rules of an endpoint.
pub(crate) static ENDPOINT: &[&CelRule] = &[&SOME_WAY, &ONE_WAY];

/// The kernel's limit for paths of sockets.
pub(crate) static SOCKET_PATH: CelRule = CelRule {
    rule: &ENDPOINTS,
    message: "the path of a socket has at most 108 characters",
    upstream: "8e11f75b",
    holds: |path| path.text().chars().count() <= 108,
};

fn has_ca_refs(tls: Node<'_>) -> bool {
    tls.size_of("caCertificateRefs") > 0
}

fn has_well_known_ca(tls: Node<'_>) -> bool {
    !tls.text_of("wellKnownCACertificates").is_empty()
}

static ONE_CA_SOURCE: CelRule = CelRule {
    rule: &TLS,
    message: "caCertificateRefs and wellKnownCACertificates cannot go together",
    upstream: "65c1b111",
    holds: |tls| !(has_ca_refs(tls) && has_well_known_ca(tls)),
};

static NO_CA_WITHOUT_CHECK: CelRule = CelRule {
    rule: &TLS,
    message: "insecureSkipVerify has no use for CA certificates",
    upstream: "aef388bc",
    holds: |tls| !tls.is_set("insecureSkipVerify") || !has_ca_refs(tls) && !has_well_known_ca(tls),
};

static ONE_SNI: CelRule = CelRule {
    rule: &TLS,
    message: "sni and autoSNIFromEndpointHostname cannot go together",
    upstream: "95570001",
    holds: |tls| !(tls.has("sni") && tls.is_set("autoSNIFromEndpointHostname")),
};

static CIPHERS_NEED_TLS_1_2: CelRule = CelRule {
    rule: &TLS,
    message: "ciphers have no effect if minVersion is 1.3",
    upstream: "2ff3d8a1",
    holds: |tls| tls.text_of("minVersion") != "1.3" || !tls.has("ciphers"),
};

/// The place of a version among all; `Auto` is the lowest minimum and the highest maximum.
fn rank(version: &str, auto: u8) -> u8 {
    match version {
        "1.0" => 1,
        "1.1" => 2,
        "1.2" => 3,
        "1.3" => 4,
        _ => auto,
    }
}

static VERSIONS_ORDERED: CelRule = CelRule {
    rule: &TLS,
    message: "minVersion (1.2 by default) must not be above maxVersion",
    upstream: "7d6a9b40",
    holds: |tls| {
        let min = tls.get("minVersion").map_or(3, |version| rank(version.text(), 0));
        tls.get("maxVersion").is_none_or(|version| min <= rank(version.text(), 5))
    },
};

/// The rules of a Backend's TLS.
pub(crate) static BACKEND_TLS: &[&CelRule] =
    &[&ONE_CA_SOURCE, &NO_CA_WITHOUT_CHECK, &ONE_SNI, &CIPHERS_NEED_TLS_1_2, &VERSIONS_ORDERED];
