//! Rules about routes and their rules.

use std::{net::IpAddr, time};

use super::{CelRule, all_distinct, node::Node};
use crate::{
    diagnostic::{Rule, Severity},
    duration::Duration,
    patterns::DNS_SUBDOMAIN,
};

pub(crate) static TOO_MANY_MATCHES: Rule = Rule {
    code: "PC0227",
    severity: Severity::Error,
    summary: "a route has more than 128 matches",
    hint: "distribute the rules over several routes",
};

pub(crate) static RULE_NAME_REPEATED: Rule = Rule {
    code: "PC0228",
    severity: Severity::Error,
    summary: "two rules of a route have one name",
    hint: "rename one of the rules",
};

pub(crate) static TIMEOUTS: Rule = Rule {
    code: "PC0231",
    severity: Severity::Error,
    summary: "an attempt may last longer than the whole request",
    hint: "shorten backendRequest, or lengthen request",
};

pub(crate) static TLS_ROUTE_HOSTNAME: Rule = Rule {
    code: "PC0244",
    severity: Severity::Error,
    summary: "a hostname that no TLS client names",
    hint: "use a DNS name, perhaps with *. in front; clients send no server name for addresses",
};

fn at_most_128_matches(rules: Node<'_>) -> bool {
    rules.items().map(|rule| rule.size_of("matches")).sum::<usize>() <= 128
}

const MATCHES: &str = "all rules together may have at most 128 matches";

/// At most 128 matches in an HTTPRoute.
pub(crate) static HTTP_MATCHES: CelRule =
    CelRule { rule: &TOO_MANY_MATCHES, message: MATCHES, upstream: "dfef9215", holds: at_most_128_matches };

/// At most 128 matches in a GRPCRoute.
pub(crate) static GRPC_MATCHES: CelRule =
    CelRule { rule: &TOO_MANY_MATCHES, message: MATCHES, upstream: "837b88f5", holds: at_most_128_matches };

/// Names of rules are unique.
pub(crate) static RULE_NAMES: CelRule = CelRule {
    rule: &RULE_NAME_REPEATED,
    message: "names of rules must be unique within the route",
    upstream: "5d343ad9",
    holds: |rules| {
        let named = rules.items().filter(|rule| rule.has("name"));
        all_distinct(&named, |one, other| one.text_of("name") == other.text_of("name"))
    },
};

/// One attempt is part of the request.
pub(crate) static ATTEMPT_WITHIN_REQUEST: CelRule = CelRule {
    rule: &TIMEOUTS,
    message: "backendRequest must not be longer than request",
    upstream: "3f02004f",
    holds: |timeouts| {
        let duration = |name| timeouts.text_of(name).parse::<Duration>().map(Duration::get);
        match (duration("request"), duration("backendRequest")) {
            (Ok(time::Duration::ZERO), _) => true,
            (Ok(request), Ok(attempt)) => attempt <= request,
            _ => true, // absent, or not a duration, which is reported where it stands
        }
    },
};

static NO_ADDRESS: CelRule = CelRule {
    rule: &TLS_ROUTE_HOSTNAME,
    message: "hostnames must not be IP addresses",
    upstream: "0843be6f",
    holds: |names| !names.items().any(|name| is_ip(name.text())),
};

/// As CEL's `isIP`: IPv4-mapped IPv6 addresses do not count.
fn is_ip(text: &str) -> bool {
    match text.parse() {
        Ok(IpAddr::V4(_)) => true,
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().is_none(),
        Err(_) => false,
    }
}

static DNS_NAMES: CelRule = CelRule {
    rule: &TLS_ROUTE_HOSTNAME,
    message: "hostnames must be DNS names",
    upstream: "20123a06",
    holds: |names| {
        let mut plain = names.items().map(Node::text).filter(|name| !name.contains('*'));
        plain.all(|name| DNS_SUBDOMAIN.matches(name))
    },
};

static LEADING_WILDCARD: CelRule = CelRule {
    rule: &TLS_ROUTE_HOSTNAME,
    message: "* may only be the first label of a DNS name",
    upstream: "b31a373d",
    holds: |names| {
        let mut wildcards = names.items().map(Node::text).filter(|name| name.contains('*'));
        wildcards.all(|name| name.strip_prefix("*.").is_some_and(|rest| DNS_SUBDOMAIN.matches(rest)))
    },
};

/// The rules of a TLSRoute's host names.
pub(crate) static TLS_HOSTNAMES: &[&CelRule] = &[&NO_ADDRESS, &DNS_NAMES, &LEADING_WILDCARD];
