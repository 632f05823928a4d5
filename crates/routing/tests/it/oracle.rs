//! Which match takes a request, found in the plainest way: every match is compared, and the greatest of those
//! that fit wins.

use std::cmp::Reverse;
use std::net::IpAddr;

use portcullis_model::{Age, HostPattern, HostRank, Listener, Match, PathMatch, ValueMatch};
use portcullis_routing::canonical_path;

/// A request in canonical form.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
}

/// HTTPRouteRule.matches: exact, then longest prefix; regular expressions between (our decision).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathRank {
    Prefix(usize),
    Pattern(usize),
    Exact,
}

/// The greater wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) host: HostRank,
    pub(crate) path: PathRank,
    pub(crate) method: bool,
    pub(crate) headers: usize,
    pub(crate) query: usize,
    pub(crate) age: Reverse<Age>,
    pub(crate) name: Reverse<String>,
    pub(crate) rule: Reverse<usize>,
    pub(crate) matched: Reverse<usize>,
}

/// A match: the route's namespace and name, its rule, the match's place in it.
pub(crate) type Id = ((String, String), usize, usize);

impl Rank {
    pub(crate) fn id(&self) -> Id {
        let (namespace, name) = self.name.0.split_once('/').unwrap_or_default();
        ((namespace.to_owned(), name.to_owned()), self.rule.0, self.matched.0)
    }
}

/// Every match under a hostname that takes the request's host, the greatest first, and whether it fits. A match
/// under several such hostnames counts under the most specific.
pub(crate) fn ranked(listener: &Listener, asked: &Asked) -> Vec<(Rank, bool)> {
    let mut all = Vec::new();
    for route in &listener.routes {
        let hosts = route.hostnames.iter().filter(|pattern| host_fits(pattern, &asked.host));
        let Some(host) = hosts.map(HostPattern::rank).max() else { continue };
        for rule in &route.rules {
            for (index, matched) in rule.matches.iter().enumerate() {
                let rank = Rank {
                    host,
                    path: path_rank(&matched.path),
                    method: matched.method.is_some(),
                    headers: matched.headers.len(),
                    query: matched.query.len(),
                    age: Reverse(route.age),
                    name: Reverse(format!("{}/{}", route.origin.namespace, route.origin.name)),
                    rule: Reverse(rule.id.index),
                    matched: Reverse(index),
                };
                all.push((rank, fits(matched, asked)));
            }
        }
    }
    all.sort_by(|one, two| two.0.cmp(&one.0));
    all
}

/// The match that takes a request.
pub(crate) fn best(listener: &Listener, asked: &Asked) -> Option<Id> {
    ranked(listener, asked).into_iter().find(|(_, fits)| *fits).map(|(rank, _)| rank.id())
}

pub(crate) fn host_fits(pattern: &HostPattern, host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    *pattern == HostPattern::Any || (bare.parse::<IpAddr>().is_err() && pattern.matches(host))
}

fn path_rank(path: &PathMatch) -> PathRank {
    match path {
        PathMatch::Exact(_) => PathRank::Exact,
        PathMatch::Regex(pattern) => PathRank::Pattern(pattern.as_str().len()),
        PathMatch::Prefix(prefix) => {
            PathRank::Prefix(elements(&canonical_path(prefix).unwrap()).join("/").len())
        }
        PathMatch::Call(_) => panic!("calls have an oracle of their own"),
    }
}

/// The elements of a prefix; a trailing slash adds none.
fn elements(path: &str) -> Vec<&str> {
    let mut elements: Vec<&str> = path.split('/').collect();
    if elements.last() == Some(&"") {
        elements.pop();
    }
    elements
}

fn fits(matched: &Match, asked: &Asked) -> bool {
    let path = match &matched.path {
        PathMatch::Exact(path) => canonical_path(path).unwrap() == asked.path,
        PathMatch::Regex(pattern) => pattern.matches(asked.path.as_bytes()),
        PathMatch::Prefix(prefix) => {
            let prefix = canonical_path(prefix).unwrap();
            let (wanted, given) = (elements(&prefix), asked.path.split('/').collect::<Vec<_>>());
            wanted.len() <= 1 || given.starts_with(&wanted)
        }
        PathMatch::Call(_) => panic!("calls have an oracle of their own"),
    };
    let method = matched.method.as_deref().is_none_or(|method| method == asked.method);
    let mut headers = matched.headers.iter().map(|header| {
        let fields = asked.headers.iter().filter(|(name, _)| *name == header.name.as_str());
        let values: Vec<&str> = fields.map(|(_, value)| value.as_str()).collect();
        !values.is_empty() && value_fits(&header.value, &values.join(","))
    });
    let mut query = matched.query.iter().map(|wanted| {
        let parts = asked.query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
        let mut decoded = parts.map(|(name, value)| (decode(name), decode(value)));
        let first = decoded.find(|(name, _)| *name == *wanted.name);
        first.is_some_and(|(_, value)| value_fits(&wanted.value, &value))
    });
    path && method && headers.all(|fits| fits) && query.all(|fits| fits)
}

fn value_fits(wanted: &ValueMatch, value: &str) -> bool {
    match wanted {
        ValueMatch::Exact(text) => **text == *value,
        ValueMatch::Regex(pattern) => pattern.matches(value.as_bytes()),
    }
}

/// Decodes the escapes of ASCII characters, which are all that these tests have.
fn decode(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[2..];
            }
            None => out.push('%'),
        }
    }
    out + rest
}
