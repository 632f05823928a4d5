//! Rules about the paths that HTTPRoutes match.

use super::{CelRule, node::Node};
use crate::{
    diagnostic::{Rule, Severity},
    patterns::PATH,
};

pub(crate) static PATH_VALUE: Rule = Rule {
    code: "PC0225",
    severity: Severity::Error,
    summary: "a path that no request can have",
    hint: "write the path as it looks after normalisation: absolute, without //, /./, /../, # or %2F",
};

fn is_literal(path: Node<'_>) -> bool {
    matches!(path.text_of("type"), "Exact" | "PathPrefix")
}

macro_rules! literal_path {
    ($name:ident, $hash:literal, $message:literal, $holds:expr) => {
        static $name: CelRule = CelRule {
            rule: &PATH_VALUE,
            message: $message,
            upstream: $hash,
            holds: |path| {
                let holds: fn(&str) -> bool = $holds;
                !is_literal(path) || holds(path.text_of("value"))
            },
        };
    };
}

literal_path!(ABSOLUTE, "d1b1dcc5", "the path must begin with /", |p| p.starts_with('/'));
literal_path!(NO_DOUBLE_SLASH, "2a730cba", "the path must not contain //", |p| !p.contains("//"));
literal_path!(NO_DOT, "8c3f86ff", "the path must not contain /./", |p| !p.contains("/./"));
literal_path!(NO_DOT_DOT, "ced0ffea", "the path must not contain /../", |p| !p.contains("/../"));
literal_path!(NO_SLASH_LOWER, "16add9e2", "the path must not contain %2f", |p| !p.contains("%2f"));
literal_path!(NO_SLASH_UPPER, "5f510e91", "the path must not contain %2F", |p| !p.contains("%2F"));
literal_path!(NO_FRAGMENT, "20989435", "the path must not contain #", |p| !p.contains('#'));
literal_path!(NO_DOT_DOT_END, "0c441c9d", "the path must not end with /..", |p| !p.ends_with("/.."));
literal_path!(NO_DOT_END, "c36405e2", "the path must not end with /.", |p| !p.ends_with("/."));
literal_path!(
    VALID_CHARACTERS,
    "67736b8f",
    "the path may contain letters, digits, %XX and -._~!$&'()*+,;=:@/ only",
    |p| PATH.matches(p)
);

static KNOWN_TYPE: CelRule = CelRule {
    rule: &PATH_VALUE,
    message: "the type must be Exact, PathPrefix or RegularExpression",
    upstream: "1267f055",
    holds: |path| is_literal(path) || path.text_of("type") == "RegularExpression",
};

/// The rules of a path match.
pub(crate) static PATH_MATCH: &[&CelRule] = &[
    &ABSOLUTE,
    &NO_DOUBLE_SLASH,
    &NO_DOT,
    &NO_DOT_DOT,
    &NO_SLASH_LOWER,
    &NO_SLASH_UPPER,
    &NO_FRAGMENT,
    &NO_DOT_DOT_END,
    &NO_DOT_END,
    &KNOWN_TYPE,
    &VALID_CHARACTERS,
];
