//! Rules about Gateways beside their listeners.

use super::{CelRule, all_distinct, node::Node};
use crate::{
    diagnostic::{Rule, Severity},
    patterns::{DNS_SUBDOMAIN, HOSTNAME, LABEL_KEY},
};

pub(crate) static ADDRESS: Rule = Rule {
    code: "PC0238",
    severity: Severity::Error,
    summary: "a Gateway's address is not possible",
    hint: "list every address once; hostnames are DNS names, routability is Cluster or has a domain in front",
};

pub(crate) static INFRASTRUCTURE_KEYS: Rule = Rule {
    code: "PC0239",
    severity: Severity::Error,
    summary: "a key that labels or annotations cannot have",
    hint: "a key is a name of up to 63 characters, perhaps after a DNS name and a slash",
};

pub(crate) static FRONTEND_PORTS: Rule = Rule {
    code: "PC0241",
    severity: Severity::Error,
    summary: "two entries for one port",
    hint: "merge the entries of the port into one",
};

fn unique_values(addresses: Node<'_>, address_type: &str) -> bool {
    let with_value = addresses.items().filter(|a| a.text_of("type") == address_type && a.has("value"));
    all_distinct(&with_value, |one, other| one.text_of("value") == other.text_of("value"))
}

static UNIQUE_IP_ADDRESSES: CelRule = CelRule {
    rule: &ADDRESS,
    message: "IP addresses must be unique",
    upstream: "1ff45617",
    holds: |addresses| unique_values(addresses, "IPAddress"),
};

static UNIQUE_HOSTNAMES: CelRule = CelRule {
    rule: &ADDRESS,
    message: "host names must be unique",
    upstream: "f109da0c",
    holds: |addresses| unique_values(addresses, "Hostname"),
};

/// The rules of a list of addresses.
pub(crate) static ADDRESSES: &[&CelRule] = &[&UNIQUE_IP_ADDRESSES, &UNIQUE_HOSTNAMES];

fn is_hostname_if_said(address: Node<'_>) -> bool {
    address.text_of("type") != "Hostname"
        || address.get("value").is_none_or(|value| HOSTNAME.matches(value.text()))
}

const HOSTNAME_VALUE: &str = "an address of type Hostname must be a DNS name";

/// An address asked for of type Hostname is a host name, if it has a value.
pub(crate) static SPEC_HOSTNAME: CelRule =
    CelRule { rule: &ADDRESS, message: HOSTNAME_VALUE, upstream: "dac2850f", holds: is_hostname_if_said };

/// An address in a status of type Hostname is a host name.
pub(crate) static STATUS_HOSTNAME: CelRule =
    CelRule { rule: &ADDRESS, message: HOSTNAME_VALUE, upstream: "b3d66a64", holds: is_hostname_if_said };

/// Routability is `Cluster` or a path under a domain that is not Kubernetes' own.
pub(crate) static ROUTABILITY: CelRule = CelRule {
    rule: &ADDRESS,
    message: "routability must be empty, Cluster, or a path under a domain other than k8s.io",
    upstream: "591bc5c2",
    holds: |routability| match routability.text() {
        "" | "Cluster" => true,
        text => text.split_once('/').is_some_and(|(domain, path)| {
            // The CRD's `^.*/.+$` looks at one line: `.` matches no line break.
            !path.is_empty()
                && !text.contains('\n')
                && domain.len() <= 253
                && DNS_SUBDOMAIN.matches(domain)
                && domain != "k8s.io"
                && !domain.ends_with(".k8s.io")
        }),
    },
};

static KEY_FORM: CelRule = CelRule {
    rule: &INFRASTRUCTURE_KEYS,
    message: "keys must be a name of up to 63 characters, perhaps after a DNS name and a slash",
    upstream: "9d8358ec",
    holds: |map| map.keys().all(|key| LABEL_KEY.matches(key)),
};

static KEY_PREFIX_LENGTH: CelRule = CelRule {
    rule: &INFRASTRUCTURE_KEYS,
    message: "the DNS name before a key's slash must have fewer than 253 characters",
    upstream: "4b9766f7",
    holds: |map| {
        map.keys().all(|key| {
            let prefix = key.split('/').next().unwrap_or_default();
            prefix.chars().count() < 253
        })
    },
};

/// The rules of labels and annotations for infrastructure.
pub(crate) static LABEL_KEYS: &[&CelRule] = &[&KEY_FORM, &KEY_PREFIX_LENGTH];

/// A port has one entry.
pub(crate) static ONE_ENTRY_PER_PORT: CelRule = CelRule {
    rule: &FRONTEND_PORTS,
    message: "ports must be unique",
    upstream: "41930737",
    holds: |entries| {
        all_distinct(&entries.items(), |one, other| one.integer_of("port") == other.integer_of("port"))
    },
};
