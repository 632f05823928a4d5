//! Rules about the methods that GRPCRoutes match.

use super::{CelRule, node::Node};
use crate::{
    diagnostic::{Rule, Severity},
    patterns::{GRPC_METHOD, GRPC_SERVICE, Pattern},
};

pub(crate) static METHOD_MATCH: Rule = Rule {
    code: "PC0226",
    severity: Severity::Error,
    summary: "a gRPC method match that no call can fulfil",
    hint: "name the service (package.Service), the method, or both, without slashes",
};

static SERVICE_OR_METHOD: CelRule = CelRule {
    rule: &METHOD_MATCH,
    message: "service or method must be given",
    upstream: "6cb81017",
    holds: |m| !m.has("type") || m.has("service") || m.has("method"),
};

fn is_valid(method_match: Node<'_>, field: &str, pattern: &Pattern) -> bool {
    let is_exact = matches!(method_match.text_of("type"), "" | "Exact");
    let value = method_match.get(field);
    !is_exact || value.is_none_or(|value| pattern.matches(value.text()))
}

static VALID_SERVICE: CelRule = CelRule {
    rule: &METHOD_MATCH,
    message: "service must be names of letters, digits and _, separated by dots",
    upstream: "fb8615af",
    holds: |m| is_valid(m, "service", &GRPC_SERVICE),
};

static VALID_METHOD: CelRule = CelRule {
    rule: &METHOD_MATCH,
    message: "method must be a name of letters, digits and _",
    upstream: "7797fc31",
    holds: |m| is_valid(m, "method", &GRPC_METHOD),
};

/// The rules of a method match.
pub(crate) static GRPC_METHOD_MATCH: &[&CelRule] = &[&SERVICE_OR_METHOD, &VALID_SERVICE, &VALID_METHOD];
