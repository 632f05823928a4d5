//! HTTP hygiene: what cannot be framed unambiguously reaches no backend.

use http::Request;
use portcullis_proxy::Bytes;

use crate::support::backend::fields;
use crate::support::http2::{Http2, run};
use crate::support::{Backend, Gateway, Running};

/// A request that is answered with 400 and a close, and of which the backend sees nothing.
fn refused(request: &str) {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send(request);
    let answer = client.answer();
    assert_eq!(answer.status, 400, "{request:?}");
    assert_eq!(answer.header("connection"), Some("close"), "{request:?}");
    assert_eq!(client.rest(), "", "{request:?}: the connection must end");
    assert!(backend.no_more_heads(), "{request:?} reached the backend");
}

#[test]
fn content_length_beside_transfer_encoding_is_refused() {
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn repeated_or_malformed_content_length_is_refused() {
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx");
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx");
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx");
}

#[test]
fn transfer_encoding_other_than_chunked_is_refused() {
    refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn bare_line_feeds_and_carriage_returns_are_refused() {
    refused("GET / HTTP/1.1\nHost: a\n\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n");
}

#[test]
fn whitespace_before_the_colon_and_invalid_names_are_refused() {
    refused("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n");
}

#[test]
fn no_host_or_two_are_refused() {
    refused("GET / HTTP/1.1\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");
}

#[test]
fn malformed_escapes_in_the_path_are_refused() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    assert_eq!(running.client().get("a", "/%zz").status, 400);
    assert!(backend.no_more_heads());
}

/// HTTP/1.0 without Host meets only listeners without a hostname.
#[test]
fn http_1_0_without_host_meets_only_hostless_listeners() {
    use crate::support::Rules;
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    assert_eq!(running.send("GET / HTTP/1.0\r\n\r\n").status, 200);
    let named = Gateway::new().http("a.test", Rules::new().to("/", "web")).backend("web", &[backend.address]);
    let running = Running::start(&named);
    assert_eq!(running.send("GET / HTTP/1.0\r\n\r\n").status, 404);
}

/// RFC 9112 §3.2.2: the authority of an absolute target replaces Host.
#[test]
fn the_authority_of_an_absolute_target_replaces_host() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    assert_eq!(running.send("GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
    let head = backend.head();
    assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{head}");
    assert_eq!(fields(&head, "host"), ["b.test"]);
}

#[test]
fn hop_by_hop_fields_and_those_named_by_connection_stay_behind() {
    let backend = Backend::scripted(|connection| {
        while connection.request().is_some() {
            connection.write(
                "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: \
                 keep-alive\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n",
            );
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let answer = running.send(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: x-hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\n\
         Proxy-Connection: x\r\nUpgrade: h2c\r\nX-End: 1\r\n\r\n",
    );
    let head = backend.head();
    for gone in ["connection", "x-hop", "keep-alive", "te", "proxy-connection", "upgrade"] {
        assert!(fields(&head, gone).is_empty(), "{gone} in {head}");
    }
    assert_eq!(fields(&head, "x-end"), ["1"]);
    for gone in ["connection", "x-hop", "keep-alive", "proxy-connection"] {
        assert_eq!(answer.header(gone), None, "{gone}");
    }
    assert_eq!(answer.header("x-end"), Some("2"));
}

#[test]
fn a_head_over_the_limit_is_answered_with_431() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let answer = running.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024)));
    assert_eq!(answer.status, 431);
    let answer = running.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(60 * 1024)));
    assert_eq!(answer.status, 200);
}

/// What a client says of itself is believed only if it is trusted.
#[test]
fn forwarded_fields_are_set_and_those_of_strangers_dropped() {
    let backend = Backend::named("web");
    let gateway = Gateway::to(backend.address);
    let request = "GET / HTTP/1.1\r\nHost: a.test:81\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\n\
                   X-Forwarded-Host: evil\r\nX-Request-Id: mine\r\nX-Forwarded-Client-Cert: By=x\r\nForwarded: for=x\r\n\r\n";
    Running::start(&gateway).send(request);
    let head = backend.head();
    assert_eq!(fields(&head, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(fields(&head, "x-forwarded-proto"), ["http"]);
    assert_eq!(fields(&head, "x-forwarded-host"), ["a.test:81"]);
    let id = fields(&head, "x-request-id");
    assert_eq!((id.len(), id[0].len()), (1, 36), "{id:?}");
    assert!(fields(&head, "x-forwarded-client-cert").is_empty());
    assert!(fields(&head, "forwarded").is_empty());

    let mut options = Running::options();
    options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    Running::with(&gateway, options).send(request);
    let head = backend.head();
    assert_eq!(fields(&head, "x-forwarded-for"), ["192.0.2.9, 127.0.0.1"]);
    assert_eq!(fields(&head, "x-forwarded-proto"), ["https"]);
    assert_eq!(fields(&head, "x-forwarded-host"), ["evil"]);
    assert_eq!(fields(&head, "x-request-id"), ["mine"]);
    assert_eq!(fields(&head, "x-forwarded-client-cert"), ["By=x"]);
}

/// To CGI and its heirs `X_Forwarded_For` and `X-Forwarded-For` are one variable. No proxy writes the former, so not
/// even those that are trusted may pass it on.
#[test]
fn underscores_for_hyphens_do_not_hide_a_forwarded_field() {
    let backend = Backend::named("web");
    let gateway = Gateway::to(backend.address);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX_Forwarded_For: 192.0.2.9\r\nx-forwarded_proto: https\r\n\
                   X_FORWARDED_HOST: evil\r\nX_Forwarded_Port: 1\r\nX_Request-Id: mine\r\n\
                   X_Forwarded-Client_Cert: By=x\r\nX_Other: stays\r\n\r\n";
    for trusted in [&[][..], &["127.0.0.0/8".parse().unwrap()]] {
        let mut options = Running::options();
        options.trusted_proxies = trusted.to_vec();
        Running::with(&gateway, options).send(request);
        let head = backend.head();
        let names = head.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
        let underscored: Vec<&str> = names.filter(|name| name.contains('_')).collect();
        assert_eq!(underscored, ["X_Other"]);
        assert_eq!(fields(&head, "x-forwarded-for"), ["127.0.0.1"]);
    }
}

/// A pipelined request after one that is refused must not be served: the connection is out of step.
#[test]
fn nothing_after_a_refused_request_is_served() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().status, 400);
    assert_eq!(client.rest(), "");
    assert!(backend.no_more_heads());
}

/// A backend whose framing is in doubt could hand one client another's answer.
#[test]
fn an_answer_that_cannot_be_framed_is_502() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nab",
        "nonsense\r\n\r\n",
    ] {
        let backend = Backend::scripted(move |connection| {
            connection.request();
            connection.write(answer);
        });
        let running = Running::start(&Gateway::to(backend.address));
        assert_eq!(running.client().get("a", "/").status, 502, "{answer:?}");
    }
}

/// One limit holds for every version, whatever the library below has for its own: cookies of 20 KiB pass, whole or in
/// crumbs (RFC 9113 §8.2.3), 100 KiB are 431, and the limit can be set.
#[test]
fn large_cookies_meet_the_same_limit_in_every_version() {
    let backend = Backend::named("web");
    let gateway = Gateway::to(backend.address);
    for (limit, passing, refused) in [(64, 20, 100), (64, 60, 65), (8, 6, 20), (256, 200, 300)] {
        let running = Running::limited(&gateway, |limits| limits.head_bytes = Bytes(limit << 10));
        let cookie = |kib: usize| format!("a={}", "x".repeat((kib << 10) - 2));
        let crumbs = |kib: usize| (0..kib / 2).map(|number| format!("c{number}={}", "x".repeat(2044)));
        let http1 = |kib: usize| {
            running.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {}\r\n\r\n", cookie(kib))).status
        };
        assert_eq!((http1(passing), http1(refused)), (200, 431), "{limit} KiB");
        assert_eq!(fields(&backend.head(), "cookie"), [cookie(passing)]);
        run(async {
            let mut client = Http2::connect(running.address()).await;
            let whole = |kib| Request::get("http://a/").header("cookie", cookie(kib)).body(()).unwrap();
            let split = |kib| {
                let cookies = crumbs(kib).map(|crumb| ("cookie", crumb));
                let request =
                    cookies.fold(Request::get("http://a/"), |head, (name, crumb)| head.header(name, crumb));
                request.body(()).unwrap()
            };
            for (request, status) in [
                (whole(passing), 200),
                (whole(refused), 431),
                (split(passing), 200),
                (split(refused), 431),
                (whole(passing), 200), // the connection lives
            ] {
                assert_eq!(client.send(request).await.unwrap().status(), status, "{limit} KiB");
            }
        });
        assert_eq!(fields(&backend.head(), "cookie"), [cookie(passing)]);
        assert_eq!(fields(&backend.head(), "cookie"), [crumbs(passing).collect::<Vec<_>>().join("; ")]);
        backend.head();
    }
}
