//! The other rules, and why they do not take the request.

use std::sync::Arc;

use portcullis_model::{HeaderName, HeaderValue, HostPattern, Match, PathMatch, Rule, ValueMatch};
use portcullis_routing::{
    Criterion, ListenerTable, Mismatch, Request, Shadowed, Traced, Tried, Verdict, shadowed,
};
use serde::Serialize;

use super::answer::{Object, RuleView};

type Asked<'r> = Request<'r, [(HeaderName, HeaderValue)]>;

/// A rule that did not take the request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Candidate {
    pub(crate) route: Object,
    pub(crate) rule: RuleView,
    /// The match that came nearest.
    #[serde(rename = "match")]
    pub(crate) matched: MatchView,
    pub(crate) verdict: CandidateVerdict,
    /// What did not match (`path`, `method`, `header`, `queryParam`) or what decided (`kind`, `hostname`, `pathKind`,
    /// `pathLength`, `service`, `call`, `method`, `headers`, `queryParams`, `age`, `name`, `ruleOrder`, `matchOrder`).
    pub(crate) by: &'static str,
    /// The same, to a person.
    pub(crate) detail: String,
    /// The rule that takes every request of this one first, whatever the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shadowed_by: Option<Shadow>,
}

/// Whether a rule would have taken the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CandidateVerdict {
    /// It would, but another came first.
    Lost,
    /// It would not.
    Unmatched,
}

/// A rule that covers another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shadow {
    pub(crate) route: Object,
    pub(crate) rule: RuleView,
}

/// A match of a rule, in the words of its resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MatchView {
    /// Its place in the rule's `matches`, from 0.
    pub(crate) index: usize,
    /// The route's hostname that takes the host; absent where the route has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hostname: Option<String>,
    pub(crate) path: ValueView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<ValueView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) query_params: Vec<ValueView>,
}

/// A path, or a header or query parameter by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ValueView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) value: String,
}

/// The rules of a trace but the one that won, each with the match that came nearest.
pub(super) fn of(traced: &Traced<'_, ()>, table: &ListenerTable<()>, request: &Asked<'_>) -> Vec<Candidate> {
    let shadows = shadowed(table.listener());
    let won = traced.matched.map(|matched| Arc::as_ptr(matched.entry()));
    let mut rules: Vec<&Tried<'_, ()>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for tried in traced.tried.iter().filter(|tried| won != Some(Arc::as_ptr(tried.entry))) {
        let place = *places.entry(Arc::as_ptr(tried.entry)).or_insert(rules.len());
        match rules.get_mut(place) {
            Some(nearest) if nearness(tried) > nearness(nearest) => *nearest = tried,
            Some(_) => {}
            None => rules.push(tried),
        }
    }
    rules.iter().filter_map(|tried| candidate(tried, &shadows, request)).collect()
}

/// How much of a match fits.
fn nearness(tried: &Tried<'_, ()>) -> u8 {
    match tried.verdict {
        Verdict::Unmatched(Mismatch::Path) => 0,
        Verdict::Unmatched(Mismatch::Method(_)) => 1,
        Verdict::Unmatched(Mismatch::Header(_)) => 2,
        Verdict::Unmatched(Mismatch::Query(_)) => 3,
        Verdict::Lost(_) => 4,
        Verdict::Won => 5,
    }
}

fn candidate(tried: &Tried<'_, ()>, shadows: &[Shadowed], request: &Asked<'_>) -> Option<Candidate> {
    let rule = tried.entry.rule();
    let matched = MatchView::of(rule, tried.match_index, tried.hostname)?;
    let (verdict, by, detail) = match tried.verdict {
        Verdict::Won => return None,
        Verdict::Lost(criterion) => (CandidateVerdict::Lost, criterion_name(criterion), lost(criterion)),
        Verdict::Unmatched(mismatch) => {
            let (by, detail) = unmatched(mismatch, &matched, request);
            (CandidateVerdict::Unmatched, by, detail)
        }
    };
    let route = Object::of(&rule.id.route);
    let shadowed_by = covering(rule, shadows);
    Some(Candidate { route, rule: RuleView::of(rule), matched, verdict, by, detail, shadowed_by })
}

/// The rule that covers a rule, if all of its matches are covered.
fn covering(rule: &Arc<Rule>, shadows: &[Shadowed]) -> Option<Shadow> {
    let of_rule: Vec<_> = shadows.iter().filter(|shadow| Arc::ptr_eq(&shadow.rule, rule)).collect();
    let by = &of_rule.first()?.by;
    let view = || Shadow { route: Object::of(&by.id.route), rule: RuleView::of(by) };
    (of_rule.len() == rule.matches.len()).then(view)
}

fn criterion_name(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Kind => "kind",
        Criterion::Hostname => "hostname",
        Criterion::PathKind => "pathKind",
        Criterion::PathLength => "pathLength",
        Criterion::Service => "service",
        Criterion::Call => "call",
        Criterion::Method => "method",
        Criterion::Headers => "headers",
        Criterion::Query => "queryParams",
        Criterion::Age => "age",
        Criterion::Name => "name",
        Criterion::RuleOrder => "ruleOrder",
        Criterion::MatchOrder => "matchOrder",
    }
}

fn lost(criterion: Criterion) -> String {
    let why = match criterion {
        Criterion::Kind => "gRPC calls try GRPCRoutes first",
        Criterion::Hostname => "its route's hostname is less specific",
        Criterion::PathKind => "exact paths come first, then regular expressions, then prefixes",
        Criterion::PathLength => "its path is shorter",
        Criterion::Service => "it asks for fewer characters of the service",
        Criterion::Call => "it asks for fewer characters of the method",
        Criterion::Method => "it names no method",
        Criterion::Headers => "it asks for fewer headers",
        Criterion::Query => "it asks for fewer query parameters",
        Criterion::Age => "its route is younger",
        Criterion::Name => "its route comes later by namespace and name",
        Criterion::RuleOrder => "it is a later rule of the route",
        Criterion::MatchOrder => "it is a later match of the rule",
    };
    format!("matches too, but {why}")
}

fn unmatched(mismatch: Mismatch<'_>, view: &MatchView, request: &Asked<'_>) -> (&'static str, String) {
    match mismatch {
        Mismatch::Path => ("path", format!("path: want {}, got {}", view.path.text(), request.path)),
        Mismatch::Method(want) => ("method", format!("method: want {want}, got {}", request.method)),
        Mismatch::Header(header) => {
            let name = header.name.as_str();
            let values = request.headers.iter().filter(|(field, _)| field == &header.name);
            let values: Vec<_> =
                values.map(|(_, value)| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
            let got = if values.is_empty() { "none".to_owned() } else { format!("{:?}", values.join(",")) };
            ("header", format!("header {name}: want {}, got {got}", wanted(&header.value)))
        }
        Mismatch::Query(query) => {
            let got = request.parameter(&query.name);
            let got = got.map_or("none".to_owned(), |got| format!("{:?}", String::from_utf8_lossy(&got)));
            let (name, want) = (&query.name, wanted(&query.value));
            ("queryParam", format!("query parameter {name}: want {want}, got {got}"))
        }
    }
}

fn wanted(value: &ValueMatch) -> String {
    match value {
        ValueMatch::Exact(text) => format!("{text:?}"),
        ValueMatch::Regex(pattern) => format!("a match of {}", pattern.as_str()),
    }
}

impl MatchView {
    pub(super) fn of(rule: &Rule, index: usize, hostname: &HostPattern) -> Option<MatchView> {
        let matched: &Match = rule.matches.get(index)?;
        let (kind, value) = match &matched.path {
            PathMatch::Exact(path) => ("Exact", path.as_ref().to_owned()),
            PathMatch::Prefix(path) if path.is_empty() => ("PathPrefix", "/".to_owned()),
            PathMatch::Prefix(path) => ("PathPrefix", path.as_ref().to_owned()),
            PathMatch::Regex(pattern) => ("RegularExpression", pattern.as_str().to_owned()),
            PathMatch::Call(call) => ("GRPCMethod", call.to_string()),
        };
        let headers = matched.headers.iter().map(|header| ValueView::of(header.name.as_str(), &header.value));
        let query = matched.query.iter().map(|query| ValueView::of(&query.name, &query.value));
        Some(MatchView {
            index,
            hostname: (*hostname != HostPattern::Any).then(|| hostname.to_string()),
            path: ValueView { name: None, kind, value },
            method: matched.method.as_deref().map(str::to_owned),
            headers: headers.collect(),
            query_params: query.collect(),
        })
    }
}

impl ValueView {
    fn of(name: &str, value: &ValueMatch) -> ValueView {
        let (kind, value) = match value {
            ValueMatch::Exact(text) => ("Exact", text.as_ref()),
            ValueMatch::Regex(pattern) => ("RegularExpression", pattern.as_str()),
        };
        ValueView { name: Some(name.to_owned()), kind, value: value.to_owned() }
    }

    pub(super) fn text(&self) -> String {
        let value = match self.kind {
            "PathPrefix" => format!("prefix {}", self.value),
            "RegularExpression" => format!("~ {}", self.value),
            "GRPCMethod" => format!("call {}", self.value),
            _ if self.name.is_some() => format!("{:?}", self.value),
            _ => format!("exactly {}", self.value),
        };
        self.name.as_ref().map_or(value.clone(), |name| format!("{name} {value}"))
    }
}
