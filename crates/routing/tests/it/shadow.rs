//! Shadowed matches: what lint says can never win.

use std::sync::Arc;

use portcullis_model::{Listener, ListenerProtocol};
use portcullis_routing::shadowed;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::build::{With, exact, listener, listener_of, prefix, regex, route};
use crate::generate::{arb_request, arb_routes, cases};
use crate::oracle;

fn shadows(listener: &Arc<Listener>) -> Vec<String> {
    let show = |shadowed: portcullis_routing::Shadowed| {
        let (id, by) = (&shadowed.rule.id, &shadowed.by.id);
        let (name, by_name) = (&id.route.name, &by.route.name);
        format!(
            "{name} {}.{} by {by_name} {}.{}",
            id.index, shadowed.match_index, by.index, shadowed.by_match_index
        )
    };
    shadowed(listener).into_iter().map(show).collect()
}

#[test]
fn an_equal_match_shadows_later_ones() {
    let listener = listener(vec![
        route("a", &[], vec![vec![exact("/x")], vec![prefix("/y").header("a", "1").header("b", "2")]]),
        route(
            "b",
            &[],
            vec![vec![prefix("/")], vec![prefix("/y/").header("b", "2").header("a", "1"), exact("/x")]],
        ),
        route("c", &["a.com"], vec![vec![exact("/x")]]),
    ]);
    assert_eq!(shadows(&listener), ["b 1.0 by a 1.0", "b 1.1 by a 0.0"]);
}

#[test]
fn an_open_pattern_shadows_prefixes() {
    let listener = listener(vec![route(
        "r",
        &[],
        vec![
            vec![prefix("/")],
            vec![prefix("/app/x").method("GET")],
            vec![prefix("/ap")],
            vec![exact("/app/x")],
            vec![regex("/app.*")],
        ],
    )]);
    assert_eq!(shadows(&listener), ["r 1.0 by r 4.0"]);
}

#[test]
fn an_open_pattern_with_predicates_shadows_what_asks_for_them_too() {
    let rules = vec![
        vec![regex("/.*").method("GET")],
        vec![prefix("/").method("GET").header("x", "1")],
        vec![prefix("/").method("POST")],
        vec![prefix("/")],
    ];
    assert_eq!(shadows(&listener(vec![route("r", &[], rules)])), ["r 1.0 by r 0.0"]);
}

/// A match is shadowed only if it is so under every hostname of its route that the listener takes.
#[test]
fn one_free_hostname_keeps_a_match_reachable() {
    let routes = || {
        let one = route("a", &["a.com"], vec![vec![prefix("/")]]);
        let two = route("b", &["a.com", "b.com"], vec![vec![prefix("/")]]);
        vec![Arc::new(one), Arc::new(two)]
    };
    assert_eq!(shadows(&listener_of("l", ListenerProtocol::Http, "", routes())), Vec::<String>::new());
    assert_eq!(shadows(&listener_of("l", ListenerProtocol::Http, "a.com", routes())), ["b 0.0 by a 0.0"]);
}

#[test]
fn a_repeated_match_of_one_rule_is_no_finding() {
    let listener = listener(vec![route("r", &[], vec![vec![prefix("/"), prefix("/")]])]);
    assert_eq!(shadows(&listener), Vec::<String>::new());
}

proptest! {
    #![proptest_config(cases(250))]

    /// No request's answer is a match that is said to be shadowed.
    #[test]
    fn shadowed_matches_never_win(routes in arb_routes(12), requests in vec(arb_request(), 30)) {
        let listener = listener_of("web", ListenerProtocol::Http, "", routes);
        let shadowed: Vec<_> = shadowed(&listener).iter().map(|shadowed| {
            let id = &shadowed.rule.id;
            ((id.route.namespace.to_string(), id.route.name.to_string()), id.index, shadowed.match_index)
        }).collect();
        for asked in &requests {
            if let Some(best) = oracle::best(&listener, asked) {
                prop_assert!(!shadowed.contains(&best), "{:?} wins {:?}", best, asked);
            }
        }
    }
}
