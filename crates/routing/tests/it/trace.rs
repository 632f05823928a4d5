//! What a trace says of each match.

use crate::build::{With, exact, listener, prefix, regex, route, trace};

#[test]
fn a_trace_names_the_first_mismatch_and_the_decider() {
    let listener = listener(vec![
        route(
            "r",
            &["a.com", "*.com"],
            vec![
                vec![exact("/x")],
                vec![prefix("/a"), prefix("/").method("PUT")],
                vec![prefix("/a").header("x", "2"), prefix("/a").query("q", "2")],
                vec![regex("/a/[a-z]+")],
            ],
        ),
        route("s", &["*.com"], vec![vec![exact("/a/b")]]),
        route("elsewhere", &["b.com"], vec![vec![exact("/a/b")]]),
    ]);
    let traced = trace(&listener, "GET a.com/a/b", &[("x", "1")]);
    let short: Vec<_> = traced.iter().map(|line| line.split(['{', '"']).next().unwrap().trim_end()).collect();
    assert_eq!(
        short,
        [
            "r 0.0 Unmatched(Path)",
            "r 3.0 Won",
            "r 2.0 Unmatched(Header(HeaderMatch",
            "r 2.1 Unmatched(Query(QueryMatch",
            "r 1.0 Lost(PathKind)",
            "r 1.1 Unmatched(Method(",
            "s 0.0 Lost(Hostname)",
        ]
    );
}

#[test]
fn without_an_answer_all_are_unmatched() {
    let listener = listener(vec![route("r", &[], vec![vec![exact("/x")], vec![prefix("/y")]])]);
    assert_eq!(trace(&listener, "GET h/", &[]), ["r 0.0 Unmatched(Path)", "r 1.0 Unmatched(Path)"]);
}
