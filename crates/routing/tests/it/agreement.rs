//! What a table says of a request, compared with what the oracle says.

use portcullis_model::{HeaderName, HeaderValue, RuleId};
use portcullis_routing::{Criterion, ListenerTable, Matched, Request, Traced, Tried, Verdict};

use super::build::headers;
use super::oracle::{self, Asked, Id, Rank};

/// The lookup's answer is the oracle's, and so is every verdict of the trace.
pub(crate) fn assert_agreement(table: &ListenerTable<()>, asked: &Asked) {
    let ranked = oracle::ranked(table.listener(), asked);
    let expected = ranked.iter().find(|(_, fits)| *fits).map(|(rank, _)| rank.id());
    assert_eq!(lookup(table, asked), expected, "{asked:?}");
    assert_eq!(verdicts(table, asked), (expected, expected_verdicts(&ranked)), "{asked:?}");
}

/// A verdict without what did not match: the oracle knows whether, not what.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Won,
    Lost(Criterion),
    Unmatched,
}

fn expected_verdicts(ranked: &[(Rank, bool)]) -> Vec<(Id, Kind)> {
    let winner = ranked.iter().find(|(_, fits)| *fits).map(|(rank, _)| rank);
    let kind = |rank: &Rank, fits: bool| match winner {
        Some(winner) if fits && winner != rank => Kind::Lost(first_difference(winner, rank)),
        _ if fits => Kind::Won,
        _ => Kind::Unmatched,
    };
    ranked.iter().map(|(rank, fits)| (rank.id(), kind(rank, *fits))).collect()
}

fn first_difference(one: &Rank, two: &Rank) -> Criterion {
    use oracle::PathRank::{Exact, Pattern, Prefix};
    let same_kind =
        matches!((one.path, two.path), (Exact, Exact) | (Pattern(_), Pattern(_)) | (Prefix(_), Prefix(_)));
    match () {
        () if one.host != two.host => Criterion::Hostname,
        () if !same_kind => Criterion::PathKind,
        () if one.path != two.path => Criterion::PathLength,
        () if one.method != two.method => Criterion::Method,
        () if one.headers != two.headers => Criterion::Headers,
        () if one.query != two.query => Criterion::Query,
        () if one.age != two.age => Criterion::Age,
        () if one.name != two.name => Criterion::Name,
        () if one.rule != two.rule => Criterion::RuleOrder,
        () => Criterion::MatchOrder,
    }
}

pub(crate) fn with_asked<R>(
    asked: &Asked,
    act: impl FnOnce(&Request<'_, [(HeaderName, HeaderValue)]>) -> R,
) -> R {
    let fields: Vec<_> = asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    act(&Request::new(&asked.host, &asked.path, &asked.query, &asked.method, &headers(&fields)[..]))
}

pub(crate) fn lookup(table: &ListenerTable<()>, asked: &Asked) -> Option<Id> {
    with_asked(asked, |request| table.lookup(request).as_ref().map(matched_id))
}

pub(crate) fn verdicts(table: &ListenerTable<()>, asked: &Asked) -> (Option<Id>, Vec<(Id, Kind)>) {
    let kind = |tried: &Tried<'_, ()>| match tried.verdict {
        Verdict::Won => Kind::Won,
        Verdict::Lost(criterion) => Kind::Lost(criterion),
        Verdict::Unmatched(_) => Kind::Unmatched,
    };
    let id = |tried: &Tried<'_, ()>| id(&tried.entry.rule().id, tried.match_index);
    let read = |traced: Traced<'_, ()>| {
        let verdicts = traced.tried.iter().map(|tried| (id(tried), kind(tried))).collect();
        (traced.matched.as_ref().map(matched_id), verdicts)
    };
    with_asked(asked, |request| read(table.lookup_traced(request)))
}

fn matched_id(matched: &Matched<'_, ()>) -> Id {
    id(&matched.entry().rule().id, matched.match_index())
}

fn id(rule: &RuleId, match_index: usize) -> Id {
    ((rule.route.namespace.to_string(), rule.route.name.to_string()), rule.index, match_index)
}
