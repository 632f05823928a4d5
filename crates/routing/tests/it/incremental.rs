//! A table that follows changes is the one that is built afresh.

use std::cell::Cell;
use std::sync::Arc;

use portcullis_model::{Listener, ListenerProtocol, Port, Route};
use portcullis_routing::{PortTable, Scheme};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::agreement::{lookup, verdicts};
use crate::build::{exact, listener_of, port, prefix, route};
use crate::generate::{arb_request, arb_route, cases};

/// A change of one of two listeners.
#[derive(Clone, Debug)]
enum Edit {
    Add(Arc<Route>),
    Replace(Index, Arc<Route>),
    Remove(Index),
    Swap(Index, Index),
}

fn arb_edit() -> impl Strategy<Value = Edit> {
    let fresh = || (0..1_000_usize).prop_flat_map(arb_route);
    prop_oneof![
        3 => fresh().prop_map(Edit::Add),
        2 => (any::<Index>(), fresh()).prop_map(|(at, route)| Edit::Replace(at, route)),
        2 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(one, two)| Edit::Swap(one, two)),
    ]
}

fn apply(edit: &Edit, routes: &mut Vec<Arc<Route>>) {
    let count = routes.len();
    match edit {
        Edit::Add(route) => routes.push(Arc::clone(route)),
        _ if count == 0 => {}
        Edit::Replace(at, route) => routes[at.index(count)] = Arc::clone(route),
        Edit::Remove(at) => drop(routes.remove(at.index(count))),
        Edit::Swap(one, two) => routes.swap(one.index(count), two.index(count)),
    }
    // The names of a listener's routes are distinct.
    let mut seen = std::collections::HashSet::new();
    routes.retain(|route| seen.insert(route.origin.clone()));
}

fn two_listeners(routes: &[Vec<Arc<Route>>; 2]) -> Port {
    port(vec![
        listener_of("one", ListenerProtocol::Http, "", routes[0].clone()),
        listener_of("two", ListenerProtocol::Https(None), "", routes[1].clone()),
    ])
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn updates_equal_builds(edits in vec((0..2_usize, arb_edit()), 1..25), requests in vec(arb_request(), 8)) {
        let mut routes = [Vec::new(), Vec::new()];
        let mut followed = PortTable::build(&two_listeners(&routes), |_, _, _| ());
        for (which, edit) in &edits {
            apply(edit, &mut routes[*which]);
            let port = two_listeners(&routes);
            followed = followed.update(&port, |_, _, _| ());
            let fresh = PortTable::build(&port, |_, _, _| ());
            for (one, two) in followed.listeners().iter().zip(fresh.listeners()) {
                for asked in &requests {
                    prop_assert_eq!(lookup(one, asked), lookup(two, asked));
                    prop_assert_eq!(verdicts(one, asked), verdicts(two, asked));
                }
            }
        }
    }
}

/// Of a change among many, only the rules that changed are compiled, and an unchanged listener's table is the
/// same allocation.
#[test]
fn a_change_compiles_what_it_touches() {
    let numbered = |number: usize, path: &str| {
        let name = format!("r{number}");
        Arc::new(route(&name, &["a.com", "*.b.com"], vec![vec![prefix(path)], vec![exact(path)]]))
    };
    let mut routes: Vec<_> = (0..2_000).map(|number| numbered(number, &format!("/p{number}"))).collect();
    let quiet = listener_of("quiet", ListenerProtocol::Https(None), "", routes.clone());
    let with = |routes: &[Arc<Route>]| -> Port {
        port(vec![
            listener_of("busy", ListenerProtocol::Http, "", routes.to_vec()),
            Arc::clone(&quiet) as Arc<Listener>,
        ])
    };
    let compiled = Cell::new(0);
    let count = |_: &Listener, _: &Arc<Route>, _: &Arc<portcullis_model::Rule>| {
        compiled.set(compiled.get() + 1);
    };
    let before = PortTable::build(&with(&routes), count);
    assert_eq!(compiled.replace(0), 2 * 2 * 2_000);
    routes[1_000] = numbered(1_000, "/new");
    let after = before.update(&with(&routes), count);
    assert_eq!(compiled.get(), 2);
    assert!(Arc::ptr_eq(&before.listeners()[1], &after.listeners()[1]));
    let found = |port: &PortTable<()>, line: &str| {
        crate::build::with_request(line, &[], |request| {
            let table = port.listener_for_host(Scheme::Http, request.host).unwrap();
            table.lookup(request).map(|found| found.entry().rule().id.route.name.to_string())
        })
    };
    for line in ["GET a.com/new/x", "GET y.b.com/new"] {
        assert_eq!(found(&after, line).as_deref(), Some("r1000"));
        assert_eq!(found(&before, line), None);
    }
    assert_eq!(found(&after, "GET a.com/p1000"), None);
    assert_eq!(found(&before, "GET a.com/p1000").as_deref(), Some("r1000"));
    assert_eq!(found(&after, "GET a.com/p1999").as_deref(), Some("r1999"));
}

/// What is compiled may depend on a listener's port and scheme: when these change, all is compiled anew.
#[test]
fn another_scheme_compiles_anew() {
    let routes = vec![Arc::new(route("r", &[], vec![vec![prefix("/")]]))];
    let in_clear = port(vec![listener_of("l", ListenerProtocol::Http, "", routes.clone())]);
    let over_tls = port(vec![listener_of("l", ListenerProtocol::Https(None), "", routes)]);
    let scheme =
        |listener: &Listener, _: &Arc<Route>, _: &Arc<portcullis_model::Rule>| Scheme::of(&listener.protocol);
    let table = PortTable::build(&in_clear, scheme).update(&over_tls, scheme);
    let compiled = crate::build::with_request("GET a/", &[], |request| {
        *table.listeners()[0].lookup(request).unwrap().entry().compiled()
    });
    assert_eq!(compiled, Some(Scheme::Https));
}

/// A listener keeps its table wherever in the port's list it stands.
#[test]
fn a_moved_listener_is_not_compiled_anew() {
    let listener = |name: &str, host: &str| {
        let routes = vec![Arc::new(route("r", &[], vec![vec![prefix("/")]]))];
        listener_of(name, ListenerProtocol::Http, host, routes)
    };
    let (one, two) = (listener("one", "a.com"), listener("two", "b.com"));
    let before = PortTable::build(&port(vec![Arc::clone(&one), Arc::clone(&two)]), |_, _, _| ());
    let after = before.update(&port(vec![two, one]), |_, _, _| panic!("nothing is new"));
    assert!(Arc::ptr_eq(&before.listeners()[0], &after.listeners()[1]));
    assert!(Arc::ptr_eq(&before.listeners()[1], &after.listeners()[0]));
}

/// Redirects name the listener's port, so a listener that moves to another is compiled anew.
#[test]
fn another_port_compiles_anew() {
    let one = listener_of(
        "l",
        ListenerProtocol::Http,
        "",
        vec![Arc::new(route("r", &[], vec![vec![prefix("/")]]))],
    );
    let moved = Arc::new(Listener { port: 8080, ..Listener::clone(&one) });
    let compile = |listener: &Listener, _: &Arc<Route>, _: &Arc<portcullis_model::Rule>| listener.port;
    let table = PortTable::build(&port(vec![one]), compile).update(&port(vec![moved]), compile);
    let compiled = crate::build::with_request("GET a/", &[], |request| {
        *table.listeners()[0].lookup(request).unwrap().entry().compiled()
    });
    assert_eq!(compiled, 8080);
}
