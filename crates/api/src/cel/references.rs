//! Rules about references.

use super::{CelRule, all_distinct, node::Node};
use crate::diagnostic::{Rule, Severity};

pub(crate) static PARENT_REFS: Rule = Rule {
    code: "PC0229",
    severity: Severity::Error,
    summary: "several parentRefs mean one parent",
    hint: "give each a sectionName or port of its own, or keep only one",
};

pub(crate) static BACKEND_PORT: Rule = Rule {
    code: "PC0230",
    severity: Severity::Error,
    summary: "a backend's port is missing or too much",
    hint: "a Service needs the port to send to; an XBackend has it in its own spec",
};

pub(crate) static TARGET_REFS: Rule = Rule {
    code: "PC0242",
    severity: Severity::Error,
    summary: "several targetRefs mean one target",
    hint: "give each a sectionName of its own, or keep only one",
};

pub(crate) static CA_NAMESPACE: Rule = Rule {
    code: "PC0240",
    severity: Severity::Error,
    summary: "a ClusterTrustBundle has no namespace",
    hint: "remove the namespace from the reference",
};

fn same_object(one: Node<'_>, other: Node<'_>) -> bool {
    ["group", "kind", "name", "namespace"].iter().all(|field| one.text_of(field) == other.text_of(field))
}

fn same_section(one: Node<'_>, other: Node<'_>) -> bool {
    one.text_of("sectionName") == other.text_of("sectionName")
}

fn port(parent: Node<'_>) -> i64 {
    parent.integer_of("port").unwrap_or(0)
}

fn all_pairs<'a>(list: Node<'a>, holds: impl Fn(Node<'a>, Node<'a>) -> bool) -> bool {
    list.items().all(|one| list.items().all(|other| holds(one, other)))
}

fn both_or_neither_has_section(one: Node<'_>, other: Node<'_>) -> bool {
    one.text_of("sectionName").is_empty() == other.text_of("sectionName").is_empty()
}

static PARENTS_SPECIFIED: CelRule = CelRule {
    rule: &PARENT_REFS,
    message: "of several references to one parent, either all or none must have a sectionName, \
              and a port",
    upstream: "30e99257",
    holds: |parents| {
        all_pairs(parents, |one, other| {
            !same_object(one, other)
                || both_or_neither_has_section(one, other) && (port(one) == 0) == (port(other) == 0)
        })
    },
};

static PARENTS_UNIQUE: CelRule = CelRule {
    rule: &PARENT_REFS,
    message: "several references to one parent must differ in sectionName or port",
    upstream: "8392cce9",
    holds: |parents| {
        all_distinct(&parents.items(), |one, other| {
            same_object(one, other) && same_section(one, other) && port(one) == port(other)
        })
    },
};

/// The rules of a route's parents.
pub(crate) static PARENTS: &[&CelRule] = &[&PARENTS_SPECIFIED, &PARENTS_UNIQUE];

static SERVICE_HAS_PORT: CelRule = CelRule {
    rule: &BACKEND_PORT,
    message: "a reference to a Service needs a port",
    upstream: "089ed26a",
    holds: |backend| {
        !(backend.text_of("group").is_empty() && backend.text_of("kind") == "Service") || backend.has("port")
    },
};

static XBACKEND_HAS_NO_PORT: CelRule = CelRule {
    rule: &BACKEND_PORT,
    message: "a reference to an XBackend has no port",
    upstream: "91f0c17f",
    holds: |backend| {
        let is_xbackend = backend.text_of("group") == "gateway.networking.x-k8s.io"
            && backend.text_of("kind") == "XBackend";
        !is_xbackend || !backend.has("port")
    },
};

/// The rules of a reference to a backend.
pub(crate) static BACKEND_REF: &[&CelRule] = &[&SERVICE_HAS_PORT, &XBACKEND_HAS_NO_PORT];

static TARGETS_SPECIFIED: CelRule = CelRule {
    rule: &TARGET_REFS,
    message: "of several references to one target, either all or none must have a sectionName",
    upstream: "04db2332",
    holds: |targets| {
        all_pairs(targets, |one, other| !same_object(one, other) || both_or_neither_has_section(one, other))
    },
};

static TARGETS_UNIQUE: CelRule = CelRule {
    rule: &TARGET_REFS,
    message: "several references to one target must differ in sectionName",
    upstream: "ae7c04b5",
    holds: |targets| {
        all_distinct(&targets.items(), |one, other| same_object(one, other) && same_section(one, other))
    },
};

/// The rules of a policy's targets.
pub(crate) static TARGETS: &[&CelRule] = &[&TARGETS_SPECIFIED, &TARGETS_UNIQUE];

/// A ClusterTrustBundle is named without namespace.
pub(crate) static TRUST_BUNDLES: CelRule = CelRule {
    rule: &CA_NAMESPACE,
    message: "a reference to a ClusterTrustBundle must not have a namespace",
    upstream: "3c326992",
    holds: |refs| {
        !refs.items().any(|reference| {
            reference.text_of("group") == "certificates.k8s.io"
                && reference.text_of("kind") == "ClusterTrustBundle"
                && reference.has("namespace")
        })
    },
};
