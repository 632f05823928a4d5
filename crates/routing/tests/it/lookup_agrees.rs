//! Lookup and trace against the oracle.

use std::collections::BTreeMap;

use portcullis_model::ListenerProtocol;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::agreement::{assert_agreement, with_asked};
use crate::build::{listener_of, table};
use crate::generate::{arb_request, arb_routes, cases};

proptest! {
    #![proptest_config(cases(400))]

    /// The table's answer is the oracle's, for any rules and any request, and so is every verdict of its trace.
    #[test]
    fn lookup_agrees_with_the_oracle(routes in arb_routes(10), requests in vec(arb_request(), 20)) {
        let listener = listener_of("web", ListenerProtocol::Http, "", routes);
        let table = table(&listener);
        for asked in &requests {
            assert_agreement(&table, asked);
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
