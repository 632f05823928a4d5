//! Forwarding over HTTP/1.1: bodies, connections and what comes between.

use portcullis_model::{
    EndpointAddress, Filter, HeaderModifier, HeaderName, HeaderValue, Hostname, PathRewrite, Redirect,
    ReplacementPath, RewriteUrl,
};

use crate::support::backend::{fields, nobody};
use crate::support::model::forward;
use crate::support::{Backend, Gateway, Rules, Running};

#[test]
fn requests_and_connections_are_reused_both_sides() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    for _ in 0..5 {
        let answer = client.get("a.test", "/");
        assert_eq!((answer.status, answer.body.as_str()), (200, "web"));
    }
    assert_eq!(backend.connections(), 1);
    assert!(backend.head().starts_with("GET / HTTP/1.1\r\n"));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            connection.answer(&path);
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
    for expected in ["/1", "/2", "/3"] {
        assert_eq!(client.answer().body, expected);
    }
}

#[test]
fn no_rule_is_404_and_the_connection_lives() {
    let backend = Backend::named("web");
    let gateway =
        Gateway::new().http("a.test", Rules::new().to("/x", "web")).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let mut client = running.client();
    assert_eq!(client.get("a.test", "/").status, 404);
    assert_eq!(client.get("b.test", "/x").status, 404);
    assert_eq!(client.get("A.Test:8080", "/x/y").status, 200);
}

#[test]
fn bodies_are_streamed_with_their_framing() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let body = match fields(&head, "content-length").first() {
                Some(length) => connection.exactly(length.parse().unwrap()),
                None => connection.until("0\r\n\r\n"),
            };
            connection.answer(&body);
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let answer = running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(answer.body, "hello");
    let mut client = running.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n");
    assert!(backend.head().starts_with("POST"));
    assert!(fields(&backend.head(), "transfer-encoding").contains(&"chunked".to_owned()));
    client.send("3\r\nllo\r\n0\r\n\r\n");
    assert!(client.answer().body.contains("llo"));
}

#[test]
fn a_large_body_goes_both_ways() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        let length: usize = fields(&head, "content-length")[0].parse().unwrap();
        let body = connection.exactly(length);
        connection.answer(&body);
    });
    let running = Running::start(&Gateway::to(backend.address));
    let body = "0123456789abcdef".repeat(256 * 1024); // 4 MiB
    let request = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(running.send(&request).body == body);
}

#[test]
fn trailers_pass_both_ways() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        let body = connection.until("\r\n\r\n");
        assert!(body.contains("x-sum: 1"), "{body}");
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-check: 2\r\n\r\n");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let answer = running.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx-sum: 1\r\n\r\n",
    );
    assert_eq!((answer.body.as_str(), answer.trailers), ("a", vec!["x-check: 2".to_owned()]));
}

#[test]
fn answers_without_a_body_keep_the_connection_in_step() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            connection.write(match head.split(' ').next().unwrap() {
                "HEAD" => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                "PUT" => "HTTP/1.1 204 No Content\r\n\r\n",
                "OPTIONS" => "HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n",
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            });
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    for (method, status, length) in
        [("HEAD", 200, Some("1000")), ("PUT", 204, None), ("OPTIONS", 304, Some("12"))]
    {
        client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.head();
        assert_eq!((head.status, head.header("content-length")), (status, length), "{method}");
        assert_eq!(client.get("a", "/").body, "ok", "after {method}");
    }
    assert_eq!(backend.connections(), 1);
}

/// RFC 9110 §10.1.1: the expectation goes to the backend, whose 100 comes back before the body is sent.
#[test]
fn an_expectation_of_100_is_the_backends_to_meet() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert_eq!(fields(&head, "expect"), ["100-continue"]);
        connection.write("HTTP/1.1 100 Continue\r\n\r\n");
        let body = connection.exactly(4);
        connection.answer(&body);
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("body");
    assert_eq!(client.answer().body, "body");
}

#[test]
fn early_hints_are_relayed_and_a_flood_of_them_ends() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        connection.answer("done");
        connection.request();
        for _ in 0..100 {
            connection.write("HTTP/1.1 103 Early Hints\r\n\r\n");
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().header("link"), Some("</a>"));
    assert_eq!(client.answer().body, "done");
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let last = std::iter::from_fn(|| Some(client.answer().status)).find(|status| *status != 103);
    assert_eq!(last, Some(502));
}

/// RFC 9110 §7.8: the new protocol begins after the request. What is left of it is not passed on as something else.
#[test]
fn a_101_before_the_request_is_whole_is_502() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        assert_eq!(connection.rest(), "half");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 8\r\n\r\n";
    client.send(format!("{head}half"));
    assert_eq!(client.answer().status, 502);
    assert_eq!(client.rest(), "");
}

#[test]
fn an_upgrade_is_a_tunnel_only_after_101() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert_eq!(fields(&head, "upgrade"), ["websocket"]);
        if head.starts_with("GET /no") {
            return connection.answer("refused");
        }
        connection
            .write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhi");
        let said = connection.exactly(4);
        connection.write(said.to_uppercase());
        connection.half_close();
        assert_eq!(connection.rest(), "more");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let upgrade =
        |path| format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut client = running.client();
    client.send(upgrade("/no"));
    assert_eq!(client.answer().body, "refused");
    let mut client = running.client();
    client.send(upgrade("/yes"));
    let head = client.head();
    assert_eq!((head.status, head.header("upgrade")), (101, Some("websocket")));
    assert_eq!(client.exactly(2), "hi");
    client.send("ping");
    assert_eq!(client.exactly(4), "PING");
    client.send("more"); // the backend has ended its half; ours goes on
    client.half_close();
    assert_eq!(client.rest(), "");
}

/// Until a backend has said 101 nothing is a tunnel: what a client sends behind its upgrade is the next request, which
/// rules take or do not, and never bytes that a backend gets as they are.
#[test]
fn what_follows_an_upgrade_that_is_not_taken_is_the_next_request() {
    let backend = Backend::scripted(|connection| {
        let head = connection.request().unwrap();
        assert!(head.starts_with("GET /ws "), "{head}");
        connection.answer("no upgrade here");
        while let Some(head) = connection.request() {
            assert!(head.starts_with("GET /ws/next "), "{head}");
            connection.answer("next");
        }
    });
    let running = Running::start(
        &Gateway::new().http("a", Rules::new().to("/ws", "web")).backend("web", &[backend.address]),
    );
    for protocol in ["websocket", "x"] {
        let mut client = running.client();
        client.send(format!(
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n\
             GET /admin HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n\
             GET /ws/next HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        assert_eq!(client.answer().body, "no upgrade here");
        assert_eq!(client.answer().status, 404, "by the rules");
        assert_eq!(client.answer().body, "next");
        let mut client = running.client();
        client.send(format!(
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n\
             \x01\x05frame\r\n\r\n"
        ));
        assert_eq!(client.answer().body, "no upgrade here");
        assert_eq!(client.answer().status, 400, "a frame is no request");
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn a_client_that_ends_its_half_still_gets_its_answer() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.half_close();
    assert_eq!(client.answer().body, "web");
    assert_eq!(client.rest(), "");
}

#[test]
fn http_1_0_clients_get_no_chunks() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let answer = running.send("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!((answer.header("transfer-encoding"), answer.body.as_str()), (None, "abc"));
    assert_eq!(answer.header("connection"), Some("close"));
}

#[test]
fn an_answer_that_ends_with_its_connection_is_chunked_for_http_1_1() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 200 OK\r\n\r\nuntil the end");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    assert_eq!(client.get("a", "/").body, "until the end");
    assert_eq!(client.get("a", "/").body, "until the end");
    assert_eq!(backend.connections(), 2);
}

/// An answer that is cut off must not look whole.
#[test]
fn an_answer_that_is_cut_off_is_seen_to_be() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe");
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let all = client.rest();
    assert!(!all.ends_with("0\r\n\r\n"), "{all:?}");
}

/// A bodiless idempotent request is sent once more when a reused connection closes without a byte of an answer.
#[test]
fn a_reused_connection_that_closes_is_not_the_clients_matter() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.answer("first");
        if connection.number == 0 {
            connection.request(); // and close without an answer
        } else {
            while connection.request().is_some() {
                connection.answer("again");
            }
        }
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    assert_eq!(client.get("a", "/").body, "first");
    assert_eq!(client.get("a", "/").body, "first");
    assert_eq!(backend.connections(), 2);
}

/// A request with a body that may have been processed is never sent twice.
#[test]
fn a_request_with_a_body_is_not_sent_twice() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        connection.answer("first");
        connection.request();
    });
    let running = Running::start(&Gateway::to(backend.address));
    let mut client = running.client();
    assert_eq!(client.get("a", "/").body, "first");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    assert_eq!(client.answer().status, 502);
    assert_eq!(backend.connections(), 1);
}

#[test]
fn a_failed_connect_tries_one_more_endpoint() {
    let backend = Backend::named("web");
    let gateway = Gateway::new().http("", Rules::new().to("/", "web"));
    let running = Running::start(&gateway.clone().backend("web", &[nobody(), backend.address]));
    let mut client = running.client();
    for _ in 0..4 {
        assert_eq!(client.get("a", "/").body, "web");
    }
    let running = Running::start(&gateway.backend("web", &[nobody(), nobody(), nobody()]));
    assert_eq!(running.client().get("a", "/").status, 503);
}

#[test]
fn a_backend_without_endpoints_is_503() {
    let running = Running::start(&Gateway::new().http("", Rules::new().to("/", "web")).backend("web", &[]));
    assert_eq!(running.client().get("a", "/").status, 503);
}

#[test]
fn weights_are_exact() {
    let (one, two) = (Backend::named("one"), Backend::named("two"));
    let rules = Rules::new().rule("/", forward(&[("one", 3), ("two", 1), ("never", 0)]));
    let gateway =
        Gateway::new().http("", rules).backend("one", &[one.address]).backend("two", &[two.address]);
    let running = Running::start(&gateway.backend("never", &[nobody()]));
    let mut client = running.client();
    let answers: Vec<String> = (0..40).map(|_| client.get("a", "/").body).collect();
    assert_eq!(answers.iter().filter(|body| *body == "one").count(), 30);
    assert_eq!(answers.iter().filter(|body| *body == "two").count(), 10);
}

#[test]
fn endpoints_take_turns() {
    let (one, two) = (Backend::named("one"), Backend::named("two"));
    let gateway = Gateway::new().http("", Rules::new().to("/", "web"));
    let running = Running::start(&gateway.backend("web", &[one.address, two.address]));
    let mut client = running.client();
    let answers: Vec<String> = (0..4).map(|_| client.get("a", "/").body).collect();
    let whichever_is_first = if answers[0] == "one" { ["one", "two"] } else { ["two", "one"] };
    assert_eq!(answers, whichever_is_first.repeat(2));
}

#[test]
fn unix_sockets_and_names_are_endpoints_too() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backend.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix").unwrap();
    });
    let named = Backend::named("named");
    let rules = Rules::new().to("/unix", "unix").to("/named", "named");
    let name =
        EndpointAddress::Name { hostname: Hostname::new("localhost").unwrap(), port: named.address.port() };
    let gateway = Gateway::new()
        .http("", rules)
        .endpoints("unix", vec![EndpointAddress::Unix(path.to_str().unwrap().into())])
        .endpoints("named", vec![name]);
    let running = Running::start(&gateway);
    assert_eq!(running.client().get("a", "/unix").body, "unix");
    assert_eq!(running.client().get("a", "/named").body, "named");
}

#[test]
fn filters_change_request_and_answer() {
    let backend = Backend::named("web");
    let pair = |name: &str, value: &str| {
        (HeaderName::new(name).unwrap(), HeaderValue::new(value.as_bytes()).unwrap())
    };
    let request = HeaderModifier {
        set: vec![pair("x-new", "1")],
        remove: vec![HeaderName::new("x-old").unwrap()],
        ..HeaderModifier::default()
    };
    let answer = HeaderModifier { add: vec![pair("x-answer", "2")], ..HeaderModifier::default() };
    let rewrite = RewriteUrl {
        hostname: Hostname::new("inside.test"),
        path: Some(PathRewrite::Prefix(ReplacementPath::new("/in").unwrap())),
    };
    let rules = Rules::new().to("/out", "web").filters(vec![
        Filter::RequestHeaders(request),
        Filter::ResponseHeaders(answer),
        Filter::Rewrite(rewrite),
    ]);
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[backend.address]));
    let answer = running.send("GET /out/a?q=1 HTTP/1.1\r\nHost: outside.test\r\nX-Old: x\r\n\r\n");
    assert_eq!(answer.header("x-answer"), Some("2"));
    let head = backend.head();
    assert!(head.starts_with("GET /in/a?q=1 HTTP/1.1\r\n"), "{head}");
    assert_eq!(fields(&head, "host"), ["inside.test"]);
    assert_eq!(fields(&head, "x-new"), ["1"]);
    assert!(fields(&head, "x-old").is_empty());
    assert_eq!(fields(&head, "x-forwarded-host"), ["outside.test"]);
}

#[test]
fn redirects_are_answered_here() {
    use portcullis_model::Action;
    let redirect =
        Redirect { scheme: Some("https".into()), hostname: None, port: None, path: None, status: 301 };
    let rules = Rules::new().rule("/", Action::Redirect(redirect));
    let running = Running::start(&Gateway::new().http("", rules));
    let mut client = running.client();
    let answer = client.get("a.test:8080", "/x/./y?z=1");
    assert_eq!((answer.status, answer.header("location")), (301, Some("https://a.test/x/y?z=1")));
    assert_eq!(client.get("a.test", "/").status, 301);
}

/// `https:///a.test` is not taken for a path by every client: whoever names no host is sent nowhere.
#[test]
fn a_request_without_a_host_is_redirected_to_a_host_or_refused() {
    use portcullis_model::Action;
    let to = |hostname: &str| {
        let hostname = Hostname::new(hostname);
        Redirect { scheme: Some("https".into()), hostname, port: None, path: None, status: 302 }
    };
    let rules = Rules::new().rule("/", Action::Redirect(to(""))).rule("/b", Action::Redirect(to("b.test")));
    let running = Running::start(&Gateway::new().http("", rules));
    for request in ["GET //a.test HTTP/1.0\r\n\r\n", "GET //a.test HTTP/1.1\r\nHost:\r\n\r\n"] {
        let answer = running.send(request);
        assert_eq!((answer.status, answer.header("location")), (400, None), "{request:?}");
    }
    let answer = running.send("GET /b HTTP/1.0\r\n\r\n");
    assert_eq!((answer.status, answer.header("location")), (302, Some("https://b.test/b")));
}

/// The path that was matched is the path that is forwarded.
#[test]
fn the_canonical_path_is_forwarded() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    running.client().get("a", "/a/../%62/%2f//c?d=%2f..");
    assert!(backend.head().starts_with("GET /b/%2F//c?d=%2f.. HTTP/1.1\r\n"));
}

/// The admin endpoint tells more than a client may know.
#[test]
fn no_backend_is_the_admin_address() {
    let mut running = Running::start(&Gateway::to(nobody()));
    let admin = running.proxy.admin().unwrap();
    running.apply(&Gateway::to(admin).model());
    assert_eq!(running.client().get("a", "/metrics").status, 503);
}

/// gRPC clients understand statuses of gRPC only.
#[test]
fn grpc_without_a_rule_is_unimplemented() {
    let running = Running::start(&Gateway::new().http("", Rules::new()));
    let answer = running.send(
        "POST /a.B/C HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!((answer.status, answer.header("grpc-status")), (200, Some("12")));
}
