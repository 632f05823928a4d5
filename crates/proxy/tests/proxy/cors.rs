//! CORS: preflight requests are answered by the proxy, and answers say which origins may see them.

use portcullis_model::{
    Cors, Filter, HeaderMatch, HeaderModifier, HeaderName, Listed, OriginPattern, Origins, ValueMatch,
};

use crate::support::client::Answer;
use crate::support::model::{forward, prefix};
use crate::support::{Backend, Gateway, Rules, Running};

fn none<T>() -> Listed<T> {
    Listed::Only(Vec::new())
}

fn names(names: &[&str]) -> Listed<HeaderName> {
    Listed::Only(names.iter().map(|name| HeaderName::new(name).unwrap()).collect())
}

fn origins(patterns: &[&str]) -> Origins {
    Origins::Matching(patterns.iter().map(|pattern| OriginPattern::new(pattern).unwrap()).collect())
}

fn cors() -> Cors {
    Cors {
        origins: origins(&["https://www.foo.test", "https://*.bar.test"]),
        credentials: false,
        methods: none(),
        request_headers: none(),
        exposed_headers: none(),
        max_age: 5,
    }
}

fn served(cors: Cors) -> (Backend, Running) {
    let backend = Backend::named("web");
    let rules = Rules::new().to("/", "web").filters(vec![Filter::Cors(cors)]);
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[backend.address]));
    (backend, running)
}

fn preflight(running: &Running, fields: &str) -> Answer {
    running.send(&format!("OPTIONS / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
}

fn told(answer: &Answer) -> Vec<(&str, &str)> {
    let told = answer.headers.iter().filter(|(name, _)| name.starts_with("access-control") || name == "vary");
    told.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// HTTPCORSFilter: the lists are told as they are written, to origins that are allowed.
#[test]
fn a_preflight_request_is_answered_with_what_the_filter_lists() {
    let (backend, running) = served(Cors {
        credentials: true,
        methods: Listed::Only(vec!["GET".into(), "OPTIONS".into()]),
        request_headers: names(&["x-1", "x-2"]),
        exposed_headers: names(&["x-3", "x-4"]),
        max_age: 3600,
        ..cors()
    });
    let answer = preflight(
        &running,
        "Origin: https://a.b.bar.test\r\nAccess-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x-9\r\n",
    );
    assert_eq!(answer.status, 204);
    assert_eq!(
        told(&answer),
        [
            ("vary", "Origin"),
            ("access-control-allow-origin", "https://a.b.bar.test"),
            ("access-control-allow-credentials", "true"),
            ("access-control-expose-headers", "x-3, x-4"),
            ("access-control-allow-methods", "GET, OPTIONS"),
            ("access-control-allow-headers", "x-1, x-2"),
            ("access-control-max-age", "3600"),
        ]
    );
    assert!(backend.no_more_heads());
}

/// HTTPCORSFilter.allowOrigins: an answer without the fields makes the request fail on the client's side.
#[test]
fn an_origin_that_is_not_allowed_is_told_nothing() {
    let (backend, running) = served(cors());
    for origin in ["https://foo.test", "http://www.foo.test", "null", "https://www.foo.test\r\nOrigin: x"] {
        let answer =
            preflight(&running, &format!("Origin: {origin}\r\nAccess-Control-Request-Method: GET\r\n"));
        assert_eq!((answer.status, told(&answer)), (204, vec![("vary", "Origin")]), "{origin}");
    }
    assert!(backend.no_more_heads());
}

/// HTTPCORSFilter: with credentials no field is `*`; what is asked for is told, and nothing where nothing is.
#[test]
fn with_credentials_what_is_asked_for_is_echoed() {
    let everything = |credentials| Cors {
        origins: Origins::Any,
        credentials,
        methods: Listed::All,
        request_headers: Listed::All,
        exposed_headers: Listed::All,
        max_age: 5,
    };
    let asked = "Origin: https://x.test:1234\r\nAccess-Control-Request-Method: PUT\r\n";
    let headers = "Access-Control-Request-Headers: x-1, authorization\r\n";
    let (_backend, running) = served(everything(true));
    let with = [
        ("vary", "Origin"),
        ("access-control-allow-origin", "https://x.test:1234"),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-max-age", "5"),
    ];
    assert_eq!(told(&preflight(&running, asked)), with);
    let answer = preflight(&running, &format!("{asked}{headers}"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("x-1, authorization"));
    let (_backend, running) = served(everything(false));
    let without = [
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", "*"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-allow-headers", "x-1, authorization"),
        ("access-control-max-age", "5"),
    ];
    assert_eq!(told(&preflight(&running, &format!("{asked}{headers}"))), without);
}

/// The gateway decides: what a backend says of origins does not get past the filter, and its Vary stays.
#[test]
fn an_actual_answer_has_the_filters_fields_and_not_the_backends() {
    let backend = Backend::scripted(|connection| {
        while connection.request().is_some() {
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nVary: Accept\r\nAccess-Control-Allow-Origin: *\r\n\
                 Access-Control-Allow-Credentials: true\r\n\r\n",
            );
        }
    });
    let set =
        HeaderModifier { remove: vec![HeaderName::new("origin").unwrap()], ..HeaderModifier::default() };
    let rules = Rules::new().to("/", "web").filters(vec![Filter::RequestHeaders(set), Filter::Cors(cors())]);
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[backend.address]));
    let mut client = running.client();
    let mut ask = |origin: &str| {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{origin}\r\n"));
        told(&client.answer()).iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let allowed = "Origin: https://www.foo.test\r\n";
    assert_eq!(ask(allowed), ["vary: Accept,Origin", "access-control-allow-origin: https://www.foo.test"]);
    assert_eq!(ask("Origin: https://evil.test\r\n"), ["vary: Accept,Origin"]);
    assert_eq!(ask(""), ["vary: Accept,Origin"]);
}

/// Without the fields a script would see only that something failed, and not what.
#[test]
fn an_error_of_the_proxy_has_the_fields_too() {
    let rules = Rules::new().to("/", "web").filters(vec![Filter::Cors(cors())]);
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[]));
    let answer = running.send("GET / HTTP/1.1\r\nHost: a\r\nOrigin: https://www.foo.test\r\n\r\n");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://www.foo.test"));
}

/// The rule that answers is that of the request to come, even if no rule takes OPTIONS.
#[test]
fn a_preflight_request_is_answered_by_the_rule_that_it_announces() {
    let backend = Backend::named("web");
    let mut put = prefix("/");
    put.method = Some("PUT".into());
    let name = HeaderName::new("x-version").unwrap();
    put.headers = vec![HeaderMatch { name, value: ValueMatch::Exact("2".into()) }];
    let mut get = prefix("/");
    get.method = Some("GET".into());
    let max_age = |max_age| vec![Filter::Cors(Cors { max_age, ..cors() })];
    let rules = Rules::new().rule("/", forward(&[("web", 1)])).matching(vec![put]).filters(max_age(1));
    let rules = rules.rule("/", forward(&[("web", 1)])).matching(vec![get]).filters(max_age(2));
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[backend.address]));
    let ask = |fields: &str| {
        let answer = preflight(&running, &format!("Origin: https://www.foo.test\r\n{fields}"));
        let max_age = answer.header("access-control-max-age").map(str::to_owned);
        (answer.status, max_age.unwrap_or_default())
    };
    let promised = "Access-Control-Request-Headers: X-Version\r\n";
    assert_eq!(ask(&format!("Access-Control-Request-Method: PUT\r\n{promised}")), (204, "1".into()));
    assert_eq!(ask("Access-Control-Request-Method: GET\r\n"), (204, "2".into()));
    assert_eq!(ask("Access-Control-Request-Method: PUT\r\n"), (404, String::new()));
    assert_eq!(ask(""), (404, String::new()));
}

/// Without the filter a preflight request is a request like any other.
#[test]
fn without_a_filter_the_backend_answers_preflight_requests() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let answer = preflight(&running, "Origin: https://a\r\nAccess-Control-Request-Method: GET\r\n");
    assert_eq!((answer.status, answer.body.as_str()), (200, "web"));
}
