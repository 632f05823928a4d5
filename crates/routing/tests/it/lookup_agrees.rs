//! Lookup and trace against the oracle.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_model::{HeaderName, HeaderValue, ListenerProtocol};
use portcullis_routing::{Criterion, ListenerTable, Matched, Request, Traced, Tried, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::build::{headers, listener_of, table};
use crate::generate::{arb_request, arb_routes, cases};
use crate::oracle::{self, Asked, Id, Rank};

proptest! {
    #![proptest_config(cases(400))]

    /// The table's answer is the oracle's, for any rules and any request, and so is every verdict of its trace.
    #[test]
    fn lookup_agrees_with_the_oracle(routes in arb_routes(10), requests in vec(arb_request(), 20)) {
        let listener = listener_of("web", ListenerProtocol::Http, "", routes);
        let table = table(&listener);
        for asked in &requests {
            let expected = oracle::best(&listener, asked);
            prop_assert_eq!(&lookup(&table, asked), &expected, "{:?}", asked);
            let (best, verdicts) = verdicts(&table, asked);
            prop_assert_eq!(best, expected);
            prop_assert_eq!(verdicts, expected_verdicts(&oracle::ranked(&listener, asked)), "{:?}", asked);
        }
    }
}

/// The generator is worth its name: every decider and every outcome is met.
#[test]
fn the_generator_reaches_every_verdict() {
    let mut runner = TestRunner::deterministic();
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..2_000 {
        let mut make = |most| (arb_routes(most), arb_request()).new_tree(&mut runner).unwrap().current();
        let (routes, asked) = make(10);
        let table = table(&listener_of("web", ListenerProtocol::Http, "", routes));
        with_asked(&asked, |request| {
            for tried in table.lookup_traced(request).tried {
                let verdict = format!("{:?}", tried.verdict);
                let verdict = verdict.split([' ', '"', '{']).next().unwrap_or_default();
                *met.entry(verdict.to_owned()).or_default() += 1;
            }
        });
    }
    println!("{met:#?}");
    let expected = [
        "Lost(Age)",
        "Lost(Headers)",
        "Lost(Hostname)",
        "Lost(MatchOrder)",
        "Lost(Method)",
        "Lost(Name)",
        "Lost(PathKind)",
        "Lost(PathLength)",
        "Lost(Query)",
        "Lost(RuleOrder)",
        "Unmatched(Header(HeaderMatch",
        "Unmatched(Method(",
        "Unmatched(Path)",
        "Unmatched(Query(QueryMatch",
        "Won",
    ];
    assert_eq!(met.keys().collect::<Vec<_>>(), expected);
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

fn with_asked<R>(asked: &Asked, act: impl FnOnce(&Request<'_, [(HeaderName, HeaderValue)]>) -> R) -> R {
    let fields: Vec<_> = asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    act(&Request::new(&asked.host, &asked.path, &asked.query, &asked.method, &headers(&fields)[..]))
}

pub(crate) fn lookup(table: &Arc<ListenerTable<()>>, asked: &Asked) -> Option<Id> {
    with_asked(asked, |request| table.lookup(request).as_ref().map(matched_id))
}

pub(crate) fn verdicts(table: &Arc<ListenerTable<()>>, asked: &Asked) -> (Option<Id>, Vec<(Id, Kind)>) {
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

fn id(rule: &portcullis_model::RuleId, match_index: usize) -> Id {
    ((rule.route.namespace.to_string(), rule.route.name.to_string()), rule.index, match_index)
}
