//! Rules about listeners.

use super::{CelRule, all_distinct, node::Node};
use crate::diagnostic::{Rule, Severity};

pub(crate) static LISTENER_TLS: Rule = Rule {
    code: "PC0234",
    severity: Severity::Error,
    summary: "a listener's tls does not fit its protocol",
    hint: "HTTPS needs tls with certificateRefs, TLS needs tls with a mode, HTTP, TCP and UDP have none",
};

pub(crate) static LISTENER_HOSTNAME: Rule = Rule {
    code: "PC0235",
    severity: Severity::Error,
    summary: "a listener's protocol has no host names",
    hint: "remove the hostname: TCP and UDP do not transport any",
};

pub(crate) static LISTENERS_DISTINCT: Rule = Rule {
    code: "PC0236",
    severity: Severity::Error,
    summary: "two listeners are the same",
    hint: "give each listener a name of its own, and a port, protocol or hostname of its own",
};

pub(crate) static LISTENER_FILTERS: Rule = Rule {
    code: "PC0237",
    severity: Severity::Error,
    summary: "a listener's protocol has no filters",
    hint: "remove the filters, or set protocol HTTP or HTTPS",
};

fn protocol<'a>(listener: Node<'a>) -> &'a str {
    listener.text_of("protocol")
}

static WITHOUT_TLS: CelRule = CelRule {
    rule: &LISTENER_TLS,
    message: "listeners of protocol HTTP, TCP and UDP must not have tls",
    upstream: "78a77239",
    holds: |listeners| {
        !listeners.items().any(|l| matches!(protocol(l), "HTTP" | "TCP" | "UDP") && l.has("tls"))
    },
};

static HTTPS_TERMINATES: CelRule = CelRule {
    rule: &LISTENER_TLS,
    message: "listeners of protocol HTTPS must have tls mode Terminate",
    upstream: "aec2bd59",
    holds: |listeners| {
        let mut https = listeners.items().filter(|l| protocol(*l) == "HTTPS");
        https.all(|l| l.get("tls").is_none_or(|tls| matches!(tls.text_of("mode"), "" | "Terminate")))
    },
};

static TLS_HAS_MODE: CelRule = CelRule {
    rule: &LISTENER_TLS,
    message: "listeners of protocol TLS must have a tls mode",
    upstream: "79a48446",
    holds: |listeners| {
        let mut tls = listeners.items().filter(|l| protocol(*l) == "TLS");
        tls.all(|l| l.get("tls").is_some_and(|tls| !tls.text_of("mode").is_empty()))
    },
};

static WITHOUT_HOSTNAME: CelRule = CelRule {
    rule: &LISTENER_HOSTNAME,
    message: "listeners of protocol TCP and UDP must not have a hostname",
    upstream: "08d23c40",
    holds: |listeners| {
        let mut bare = listeners.items().filter(|l| matches!(protocol(*l), "TCP" | "UDP"));
        bare.all(|l| l.text_of("hostname").is_empty())
    },
};

static NAMES_UNIQUE: CelRule = CelRule {
    rule: &LISTENERS_DISTINCT,
    message: "names of listeners must be unique",
    upstream: "b3c66e24",
    holds: |listeners| {
        all_distinct(&listeners.items(), |one, other| one.text_of("name") == other.text_of("name"))
    },
};

/// No two listeners agree in port, protocol and hostname. The protocol is part of it, so HTTPS
/// and TLS with one port and hostname pass here.
fn are_distinct(listeners: Node<'_>) -> bool {
    all_distinct(&listeners.items(), |one, other| {
        one.integer_of("port") == other.integer_of("port")
            && protocol(one) == protocol(other)
            && one.get("hostname").map(Node::text) == other.get("hostname").map(Node::text)
    })
}

const DISTINCT: &str = "listeners must differ in port, protocol or hostname";

static GATEWAY_DISTINCT: CelRule =
    CelRule { rule: &LISTENERS_DISTINCT, message: DISTINCT, upstream: "d31959b5", holds: are_distinct };

static SET_DISTINCT: CelRule =
    CelRule { rule: &LISTENERS_DISTINCT, message: DISTINCT, upstream: "e3e62c2a", holds: are_distinct };

/// The rules of a Gateway's listeners.
pub(crate) static GATEWAY_LISTENERS: &[&CelRule] =
    &[&WITHOUT_TLS, &HTTPS_TERMINATES, &TLS_HAS_MODE, &WITHOUT_HOSTNAME, &NAMES_UNIQUE, &GATEWAY_DISTINCT];

/// The rules of a ListenerSet's listeners.
pub(crate) static SET_LISTENERS: &[&CelRule] =
    &[&WITHOUT_TLS, &HTTPS_TERMINATES, &TLS_HAS_MODE, &WITHOUT_HOSTNAME, &NAMES_UNIQUE, &SET_DISTINCT];

/// Filters work on requests. Only Gateways' listeners have this rule.
pub(crate) static FILTERS_NEED_HTTP: CelRule = CelRule {
    rule: &LISTENER_FILTERS,
    message: "filters need protocol HTTP or HTTPS",
    upstream: "2c84d289",
    holds: |listener| !listener.has("filters") || matches!(protocol(listener), "HTTP" | "HTTPS"),
};

/// Where TLS ends, there is a certificate, or an option that stands for one.
pub(crate) static TERMINATION_HAS_CERTIFICATES: CelRule = CelRule {
    rule: &LISTENER_TLS,
    message: "mode Terminate needs certificateRefs or options",
    upstream: "f161b726",
    holds: |tls| {
        tls.text_of("mode") != "Terminate" || tls.size_of("certificateRefs") > 0 || tls.size_of("options") > 0
    },
};
