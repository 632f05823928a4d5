//! What a match asks of path, method, headers and query.

use crate::build::{With, ask, ask_with, exact, listener, prefix, regex, route};

fn takes(matched: portcullis_model::Match, line: &str, fields: &[(&str, &str)]) -> bool {
    ask_with(&listener(vec![route("r", &[], vec![vec![matched]])]), line, fields).is_some()
}

/// HTTPPathMatch: PathPrefix matches element by element; a trailing slash is ignored.
#[test]
fn prefixes_match_by_elements() {
    for (wanted, path, expected) in [
        ("/foo", "/foo", true),
        ("/foo", "/foo/", true),
        ("/foo", "/foo/bar", true),
        ("/foo/", "/foo", true),
        ("/foo", "/foobar", false),
        ("/foo", "/fo", false),
        ("/foo", "/Foo", false),
        ("/foo", "//foo", false),
        ("/foo/bar", "/foo//bar", false),
        ("/", "/", true),
        ("/", "//x", true),
        ("/a%2fb", "/a%2Fb/c", true),
        ("/%61", "/a", true),
        ("/a", "/%61/x", true),
        ("/a", "/a%2Fb", false),
    ] {
        assert_eq!(takes(prefix(wanted), &format!("GET h{path}"), &[]), expected, "{wanted} takes {path}");
    }
}

#[test]
fn exact_paths_keep_their_trailing_slash() {
    for (wanted, path, expected) in [
        ("/two", "/two", true),
        ("/two", "/two/", false),
        ("/two/", "/two/", true),
        ("/two/", "/two", false),
        ("/two", "/one/../two", true),
        ("/", "/", true),
    ] {
        assert_eq!(takes(exact(wanted), &format!("GET h{path}"), &[]), expected, "{wanted} takes {path}");
    }
}

/// Regular expressions match the whole path (our decision where the API is silent).
#[test]
fn patterns_match_the_whole_path() {
    assert!(takes(regex("/admin"), "GET h/admin", &[]));
    assert!(!takes(regex("/admin"), "GET h/foo/admin", &[]));
    assert!(!takes(regex("/admin"), "GET h/admin/bar", &[]));
    assert!(takes(regex("/admin"), "GET h/x/../%61dmin", &[]));
}

/// `OPTIONS *` is below the root alone.
#[test]
fn an_asterisk_is_taken_by_the_root() {
    let with_asterisk = |matched| {
        let listener = listener(vec![route("r", &[], vec![vec![matched]])]);
        let table = crate::build::table(&listener);
        let headers: &[(portcullis_model::HeaderName, portcullis_model::HeaderValue)] = &[];
        table.lookup(&portcullis_routing::Request::new("h", "*", "", "OPTIONS", headers)).is_some()
    };
    assert!(with_asterisk(prefix("/")));
    assert!(!with_asterisk(exact("/")));
    assert!(!with_asterisk(prefix("/a")));
}

#[test]
fn methods_are_compared_exactly() {
    assert!(takes(prefix("/").method("GET"), "GET h/", &[]));
    assert!(!takes(prefix("/").method("GET"), "get h/", &[]));
    assert!(!takes(prefix("/").method("GET"), "HEAD h/", &[]));
}

#[test]
fn all_headers_and_parameters_must_fit() {
    let wanted = || prefix("/").header("X", "1").header("y", "~[0-9]+").query("q", "1").query("r", "~a|b");
    assert!(takes(wanted(), "GET h/?q=1&r=b", &[("x", "1"), ("Y", "22")]));
    assert!(!takes(wanted(), "GET h/?q=1&r=b", &[("x", "1")]));
    assert!(!takes(wanted(), "GET h/?q=1&r=b", &[("x", "1"), ("y", "22z")]));
    assert!(!takes(wanted(), "GET h/?q=1&r=c", &[("x", "1"), ("y", "22")]));
    assert!(!takes(wanted(), "GET h/?r=b", &[("x", "1"), ("y", "22")]));
}

/// RFC 9110 §5.3: several fields of a name are one, joined by commas.
#[test]
fn repeated_fields_are_one_value() {
    assert!(takes(prefix("/").header("x", "1,2"), "GET h/", &[("x", "1"), ("z", "9"), ("X", "2")]));
    assert!(!takes(prefix("/").header("x", "1"), "GET h/", &[("x", "1"), ("x", "2")]));
    assert!(takes(prefix("/").header("x", "~1,.*"), "GET h/", &[("x", "1"), ("x", "2")]));
}

#[test]
fn the_first_of_repeated_parameters_counts() {
    assert!(takes(prefix("/").query("q", "1"), "GET h/?q=1&q=2", &[]));
    assert!(!takes(prefix("/").query("q", "2"), "GET h/?q=1&q=2", &[]));
}

/// HTTPURLRewriteFilter, ReplacePrefixMatch: what is replaced is the prefix without its trailing slash; nothing of
/// exact paths and regular expressions is.
#[test]
fn a_prefix_match_says_how_much_of_the_path_it_took() {
    let taken = |matched, path: &str| {
        let listener = listener(vec![route("r", &[], vec![vec![matched]])]);
        let table = crate::build::table(&listener);
        crate::build::with_request(&format!("GET h{path}"), &[], |request| {
            table.lookup(request).map(|found| found.prefix_len())
        })
    };
    assert_eq!(taken(prefix("/app/x/"), "/app/x/y"), Some(Some(6)));
    assert_eq!(taken(prefix("/"), "/app"), Some(Some(0)));
    assert_eq!(taken(exact("/app"), "/app"), Some(None));
    assert_eq!(taken(regex("/app.*"), "/app/x"), Some(None));
}

/// When the longest prefix's other predicates fail, shorter ones are tried, and so are patterns and exact paths
/// before them.
#[test]
fn failed_predicates_fall_back_to_less_specific_paths() {
    let rules = vec![
        vec![exact("/a/b").method("PUT")],
        vec![regex("/a/.*").header("x", "1")],
        vec![prefix("/a/b").method("POST")],
        vec![prefix("/a").query("q", "1")],
        vec![prefix("/")],
    ];
    let listener = listener(vec![route("r", &[], rules)]);
    assert_eq!(ask(&listener, "PUT h/a/b").as_deref(), Some("r 0.0"));
    assert_eq!(ask_with(&listener, "POST h/a/b", &[("x", "1")]).as_deref(), Some("r 1.0"));
    assert_eq!(ask(&listener, "POST h/a/b").as_deref(), Some("r 2.0"));
    assert_eq!(ask(&listener, "GET h/a/b?q=1").as_deref(), Some("r 3.0"));
    assert_eq!(ask(&listener, "GET h/a/b").as_deref(), Some("r 4.0"));
}

/// A preflight request is answered by the rule of the request that it announces: methods are compared with the one
/// announced, and headers that it promises count as met, for their values are not known.
#[test]
fn an_announced_request_has_the_headers_that_it_promises() {
    let none: &[(portcullis_model::HeaderName, portcullis_model::HeaderValue)] = &[];
    let takes = |matched, method, headers: &[u8]| {
        let listener = listener(vec![route("r", &[], vec![vec![matched]])]);
        let preflight = portcullis_routing::Preflight { method, headers };
        let request = portcullis_routing::Request::new("h", "/", "", "OPTIONS", none).announced(preflight);
        crate::build::table(&listener).lookup(&request).is_some()
    };
    assert!(takes(prefix("/").method("PUT"), "PUT", b""));
    assert!(!takes(prefix("/").method("OPTIONS"), "PUT", b""));
    let wanted = || prefix("/").header("x-a", "1").header("x-b", "~2+");
    assert!(takes(wanted(), "GET", b"x-b, X-A"));
    assert!(!takes(wanted(), "GET", b"x-a"));
    assert!(!takes(wanted(), "GET", b"x-a,x-bb"));
}

/// Fetch standard, "CORS-preflight request".
#[test]
fn a_preflight_request_is_options_with_origin_and_a_method_asked_for() {
    let preflight = |method: &str, fields: &[(&str, &str)]| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| {
                let value = portcullis_model::HeaderValue::new(value.as_bytes()).unwrap();
                (portcullis_model::HeaderName::new(name).unwrap(), value)
            })
            .collect();
        portcullis_routing::Preflight::of(method, &fields[..]).map(|preflight| preflight.method.to_owned())
    };
    let asked = ("access-control-request-method", "PUT");
    assert_eq!(preflight("OPTIONS", &[("origin", "https://a"), asked]).as_deref(), Some("PUT"));
    assert_eq!(preflight("OPTIONS", &[asked]), None);
    assert_eq!(preflight("OPTIONS", &[("origin", "https://a")]), None);
    assert_eq!(preflight("GET", &[("origin", "https://a"), asked]), None);
}
