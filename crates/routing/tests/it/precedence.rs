//! Precedence: HTTPRouteRule.matches.

use portcullis_model::Age;

use crate::build::{With, aged_route, ask, ask_with, exact, listener, prefix, regex, route};

/// Each rule of a list takes the request; the one that has to win is last.
fn wins(rules: Vec<portcullis_model::Match>, line: &str, fields: &[(&str, &str)]) {
    let last = rules.len() - 1;
    let listener = listener(vec![route("r", &[], rules.into_iter().map(|one| vec![one]).collect())]);
    assert_eq!(ask_with(&listener, line, fields), Some(format!("r {last}.0")));
}

#[test]
fn exact_then_pattern_then_prefix() {
    wins(vec![prefix("/a/b"), regex("/a/.*"), exact("/a/b")], "GET h/a/b", &[]);
    wins(vec![prefix("/user/12"), prefix("/"), regex("/user/[0-9]+")], "GET h/user/12", &[]);
}

#[test]
fn the_longer_pattern_is_first() {
    wins(vec![regex("/.*"), regex("/user/[0-9]+")], "GET h/user/12", &[]);
}

/// By characters, a trailing slash not counted.
#[test]
fn the_longer_prefix_is_first() {
    wins(vec![prefix("/"), prefix("/a"), prefix("/a/b")], "GET h/a/b/c", &[]);
    // `/a/` and `/a` are the same prefix: the earlier rule wins
    let listener = listener(vec![route("r", &[], vec![vec![prefix("/a")], vec![prefix("/a/")]])]);
    assert_eq!(ask(&listener, "GET h/a/").as_deref(), Some("r 0.0"));
}

#[test]
fn method_then_headers_then_query() {
    let headers = [("x", "1"), ("y", "1")];
    wins(vec![prefix("/").header("x", "1").header("y", "1"), prefix("/").method("GET")], "GET h/", &headers);
    wins(
        vec![prefix("/").header("x", "1"), prefix("/").header("x", "1").header("y", "1")],
        "GET h/",
        &headers,
    );
    wins(
        vec![prefix("/").query("q", "1").query("r", "1"), prefix("/").header("x", "1")],
        "GET h/?q=1&r=1",
        &headers,
    );
    wins(
        vec![prefix("/").query("q", "1"), prefix("/").query("q", "1").query("r", "1")],
        "GET h/?q=1&r=1",
        &[],
    );
}

/// A more specific path is before any number of predicates.
#[test]
fn path_before_predicates() {
    wins(vec![prefix("/a").method("GET").header("x", "1"), prefix("/a/b")], "GET h/a/b", &[("x", "1")]);
}

#[test]
fn age_then_name_then_rule_then_match() {
    let one = |name: &str, age| aged_route(name, age, &[], vec![vec![prefix("/")]]);
    let (older, newer) = (Age::created_at(1), Age::created_at(2));
    let ask = |routes| ask(&listener(routes), "GET h/");
    assert_eq!(ask(vec![one("a/a", newer), one("z/z", older)]).as_deref(), Some("z 0.0"));
    assert_eq!(ask(vec![one("a/a", Age::UNKNOWN), one("z/z", newer)]).as_deref(), Some("z 0.0"));
    assert_eq!(ask(vec![one("b/a", older), one("a/b", older)]).as_deref(), Some("b 0.0"));
    assert_eq!(ask(vec![one("a/b", older), one("a/a", older)]).as_deref(), Some("a 0.0"));
    assert_eq!(ask(vec![one("a/x", older), one("a-b/y", older)]).as_deref(), Some("y 0.0"));
    let rules = vec![vec![exact("/x")], vec![exact("/x"), prefix("/"), prefix("/")], vec![prefix("/")]];
    assert_eq!(ask(vec![route("r", &[], rules)]).as_deref(), Some("r 1.1"));
}
