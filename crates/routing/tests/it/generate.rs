//! Rule sets and requests over small alphabets, so that they collide.

use std::sync::Arc;

use portcullis_model::{Age, Match, Route};
use portcullis_routing::canonical_path;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::build::{With, aged_route, exact, prefix, regex};
use super::oracle::Asked;

/// `PROPTEST_CASES` or this many.
pub(crate) fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(asked.unwrap_or(default)) }
}

const PATTERNS: [&str; 10] = [
    "/.*",
    "/a.*",
    "/a/[ab]+",
    "/(a|b)/.*",
    ".*b",
    "/[^/]+/aa",
    "/a/b",
    "/a/b|/aa",
    "/.*/b/.*",
    "(?i)/A(/.*)?",
];

fn arb_path() -> impl Strategy<Value = String> {
    let element = select(&["a", "b", "aa", "%61", "a%2fb", "."][..]);
    (vec(element, 0..4), any::<bool>())
        .prop_map(|(elements, slash)| format!("/{}{}", elements.join("/"), if slash { "/" } else { "" }))
        .prop_map(|path| path.replace("//", "/"))
}

/// A value, with this probability. Neither this nor anything else here is a union of strategies: each would take half
/// of the bytes that a fuzzer gives instead of random ones.
fn sometimes<T: std::fmt::Debug>(
    probability: f64,
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    (prop::bool::weighted(probability), value).prop_map(|(there, value)| there.then_some(value))
}

fn arb_match() -> impl Strategy<Value = Match> {
    let path = (0..6_u8, arb_path(), select(&PATTERNS[..])).prop_map(|(kind, path, pattern)| match kind {
        0..2 => exact(&path),
        2..5 => prefix(&path),
        _ => regex(pattern),
    });
    let value = || select(&["1", "2", "~[12]", "1,2", "~1,.*"][..]);
    let parts = (sometimes(0.2, select(&["GET", "POST"][..])), sometimes(0.2, value()));
    (path, parts, sometimes(0.15, value()), sometimes(0.2, value()), sometimes(0.1, value())).prop_map(
        |(mut matched, (method, x), y, q, r)| {
            if let Some(method) = method {
                matched = matched.method(method);
            }
            for (name, value) in [("X-One", x), ("x-two", y)] {
                matched = value.map_or(matched.clone(), |value| matched.header(name, value));
            }
            for (name, value) in [("q", q), ("r", r)] {
                matched = value.map_or(matched.clone(), |value| matched.query(name, value));
            }
            matched
        },
    )
}

/// A route; `number` keeps names apart.
pub(crate) fn arb_route(number: usize) -> impl Strategy<Value = Arc<Route>> {
    let host = select(&["", "*.b", "*.a.b", "a.b", "x.a.b", "*.x.a.b", "1.2.3.4", "b"][..]);
    let age = select(&[0, 0, 1, 2][..])
        .prop_map(|seconds| if seconds == 0 { Age::UNKNOWN } else { Age::created_at(seconds) });
    let name = select(&["m/b", "m/a", "m-n/a", "n/b", "n/a"][..]);
    (name, age, vec(host, 0..3), vec(vec(arb_match(), 1..3), 1..4)).prop_map(
        move |(name, age, hosts, rules)| Arc::new(aged_route(&format!("{name}{number}"), age, &hosts, rules)),
    )
}

pub(crate) fn arb_routes(most: usize) -> impl Strategy<Value = Vec<Arc<Route>>> {
    (0..=most).prop_flat_map(|count| (0..count).map(arb_route).collect::<Vec<_>>())
}

pub(crate) fn arb_request() -> impl Strategy<Value = Asked> {
    let host = select(&["a.b", "x.a.b", "y.x.a.b", "c.b", "b", "other", "", "1.2.3.4", "[::1]"][..]);
    let pair = || (select(&["q", "r", "%71"][..]), select(&["1", "2", "%31", "1,2"][..]));
    let query = vec(pair().prop_map(|(name, value)| format!("{name}={value}")), 0..4);
    let field = (select(&["x-one", "x-two"][..]), select(&["1", "2"][..]));
    let path =
        (arb_path(), any::<bool>()).prop_map(|(path, double)| if double { format!("/{path}") } else { path });
    (host, path, query, select(&["GET", "POST", "PUT"][..]), vec(field, 0..4)).prop_map(
        |(host, path, query, method, fields)| Asked {
            host: host.to_owned(),
            path: canonical_path(&path).unwrap().into_owned(),
            query: query.join("&"),
            method: method.to_owned(),
            headers: fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        },
    )
}
