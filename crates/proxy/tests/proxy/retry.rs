//! Retries: what is tried again, where, and what is answered in the end.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portcullis_model::Retry;
use portcullis_proxy::Bytes;

use crate::support::backend::{Connection, fields, nobody};
use crate::support::{Backend, Gateway, Rules, Running};

fn retry(codes: &[u16], attempts: u32) -> Retry {
    Retry { codes: codes.to_vec(), attempts, backoff: Duration::from_millis(1) }
}

fn rules(retry: Retry) -> Rules {
    Rules::new().to("/", "web").retry(retry)
}

fn to(retry: Retry, backend: &Backend) -> Gateway {
    Gateway::new().http("", rules(retry)).backend("web", &[backend.address])
}

fn body(connection: &mut Connection, head: &str) -> String {
    match fields(head, "content-length").first() {
        Some(length) => connection.exactly(length.parse().unwrap()),
        None if fields(head, "transfer-encoding").is_empty() => String::new(),
        None => connection.until("0\r\n\r\n"),
    }
}

/// Answers each path with the statuses given, one after the other, the last for ever; the body says which it was.
fn failing(statuses: &'static [u16]) -> Backend {
    let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    Backend::scripted(move |connection| {
        while let Some(head) = connection.request() {
            let sent = body(connection, &head);
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let mut asked = asked.lock().unwrap();
            let count = asked.entry(path).or_default();
            let status = statuses.get(*count).or(statuses.last()).unwrap();
            *count += 1;
            let said = format!("{count} {sent}");
            connection.write(format!("HTTP/1.1 {status} S\r\nContent-Length: {}\r\n\r\n{said}", said.len()));
        }
    })
}

/// HTTPRouteRetry: `attempts` follow the first; the last answer is the client's, whatever it is.
#[test]
fn statuses_are_tried_again_as_often_as_the_rule_says() {
    for (statuses, retry, expected) in [
        (&[500, 500, 200][..], retry(&[500], 2), (200, "3 ")),
        (&[500, 502, 503], retry(&[500, 502, 503], 2), (503, "3 ")),
        (&[500, 200], retry(&[503], 2), (500, "1 ")),
        (&[500, 200], retry(&[500], 0), (500, "1 ")),
        (&[500, 200], retry(&[], 2), (500, "1 ")),
    ] {
        let statuses: &'static [u16] = statuses.to_vec().leak();
        let backend = failing(statuses);
        let running = Running::start(&to(retry, &backend));
        let answer = running.send("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!((answer.status, answer.body.as_str()), expected, "{statuses:?}");
    }
}

/// gRPC's UNAVAILABLE before any message says that the call was not processed; it needs no code.
#[test]
fn a_grpc_server_that_is_not_available_is_asked_again() {
    let backend = Backend::scripted(|connection| {
        while connection.request().is_some() {
            let status = if connection.number == 0 { 14 } else { 5 };
            connection
                .write(format!("HTTP/1.1 200 OK\r\ngrpc-status: {status}\r\nContent-Length: 0\r\n\r\n"));
        }
    });
    let running = Running::start(&to(retry(&[], 3), &backend));
    assert_eq!(running.client().get("a", "/").header("grpc-status"), Some("5"));
}

/// With its status named, a request is tried again whatever its method, with the body that it had, framed as before.
#[test]
fn a_body_is_sent_again_whole() {
    let backend = failing(&[503, 503, 200]);
    let running = Running::start(&to(retry(&[503], 2), &backend));
    let answer = running.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((answer.status, answer.body.as_str()), (200, "3 hello"));
    let mut client = running.client();
    client.send("POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("2\r\nhe\r\n");
    client.send("3\r\nllo\r\n0\r\n\r\n");
    let answer = client.answer();
    assert_eq!(answer.status, 200);
    let sent = answer.body.strip_prefix("3 ").unwrap().replace("2\r\nhe\r\n3\r\nllo\r\n", "5\r\nhello\r\n");
    assert_eq!(sent, "5\r\nhello\r\n0\r\n\r\n");
    assert_eq!(client.get("a", "/after").status, 200, "the client's connection is in step");
}

/// What is too long to be kept is not sent again, and its first answer is the last.
#[test]
fn a_body_beyond_the_limit_is_sent_once() {
    let backend = failing(&[503, 200]);
    let limited = |name: &'static str| {
        let limit = move |limits: &mut portcullis_proxy::Limits| match name {
            "replay" => limits.replay_bytes = Bytes(4),
            _ => limits.copied_bytes = Bytes(4),
        };
        Running::limited(&to(retry(&[503], 3), &backend), limit)
    };
    for name in ["replay", "all"] {
        let running = limited(name);
        let post = |path: &str, body: &str| {
            let length = body.len();
            running.send(&format!(
                "POST /{name}{path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
            ))
        };
        assert_eq!(post("/long", "hello").body, "1 hello");
        assert_eq!(post("/short", "hell").body, "2 hell");
    }
}

/// Of several endpoints one that was not tried comes first; a connection that cannot be made needs no code.
#[test]
fn another_endpoint_is_tried_where_nobody_listens() {
    let backend = Backend::named("alive");
    let gateway = Gateway::new().http("", rules(retry(&[], 3)));
    let gateway = gateway.backend("web", &[nobody(), backend.address, nobody(), nobody()]);
    let running = Running::start(&gateway);
    for _ in 0..8 {
        let answer = running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        assert_eq!((answer.status, answer.body.as_str()), (200, "alive"));
    }
}

/// A failed connect is an attempt: `attempts: 0` allows no second one, and in the end it is 503.
#[test]
fn connection_errors_end_with_503() {
    let backend = Backend::named("alive");
    let gateway = |attempts, addresses: &[std::net::SocketAddr]| {
        Running::start(&Gateway::new().http("", rules(retry(&[], attempts))).backend("web", addresses))
    };
    let running = gateway(0, &[nobody(), backend.address]);
    let statuses: Vec<u16> = (0..4).map(|_| running.client().get("a", "/").status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 503).count(), 2, "{statuses:?}");
    let running = gateway(2, &[nobody(), nobody(), nobody(), backend.address]);
    let statuses: Vec<u16> = (0..4).map(|_| running.client().get("a", "/").status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 503).count(), 1, "{statuses:?}");
}

/// A connection that breaks after the request was sent may have been processed: it is not tried again.
#[test]
fn a_request_that_may_have_been_processed_is_not_sent_again() {
    let backend = Backend::scripted(|connection| {
        connection.request();
    });
    let running = Running::start(&to(retry(&[500, 502, 503, 504], 5), &backend));
    assert_eq!(running.client().get("a", "/").status, 502);
    assert_eq!(backend.connections(), 1);
}

/// An attempt that takes longer than `backendRequest` is followed by another if the method is idempotent.
#[test]
fn an_attempt_that_timed_out_is_followed_by_another_if_that_is_safe() {
    let script = |connection: &mut Connection| {
        while let Some(head) = connection.request() {
            if connection.number == 0 || head.starts_with("POST") {
                connection.write("HTTP/1.1 200 O"); // half a head must not meet the next answer
                connection.rest();
            } else {
                connection.answer("second");
            }
        }
    };
    let backend = Backend::scripted(script);
    let rules = rules(retry(&[], 3)).timeouts(None, Some(50));
    let gateway = Gateway::new().http("", rules).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    assert_eq!(running.client().get("a", "/").body, "second");
    let answer = running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(answer.status, 504);
}

/// `request` is for all attempts and the pauses between them.
#[test]
fn the_requests_time_ends_attempts_and_pauses() {
    let backend = failing(&[500]);
    let retry = Retry { backoff: Duration::from_secs(3600), ..retry(&[500], 1) };
    let rules = rules(retry).timeouts(Some(100), None);
    let gateway = Gateway::new().http("", rules).backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let began = Instant::now();
    assert_eq!(running.client().get("a", "/").status, 504);
    assert!((Duration::from_millis(100)..Duration::from_secs(5)).contains(&began.elapsed()));
}

/// A client that goes takes its attempts with it.
#[test]
fn nobody_is_waited_for_in_a_pause() {
    let backend = failing(&[500]);
    let retry = Retry { backoff: Duration::from_secs(3600), ..retry(&[500], 1) };
    let running = Running::start(&to(retry, &backend));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    backend.head();
    socket2::SockRef::from(&client.stream).set_linger(Some(Duration::ZERO)).unwrap();
    client.stream.flush().unwrap();
    drop(client);
    crate::support::eventually(|| {
        running.metrics().contains("portcullis_requests_total{reason=\"client_closed\"} 1").then_some(())
    });
}

/// HTTPRouteTimeouts.backendRequest is the time of each attempt, whatever the pause between them; those that it ends
/// are followed by as many as the rule says.
#[test]
fn every_attempt_has_the_same_time() {
    let backend = Backend::silent();
    let rules = rules(retry(&[], 2)).timeouts(None, Some(100));
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[backend.address]));
    let began = Instant::now();
    assert_eq!(running.client().get("a", "/").status, 504);
    assert!((Duration::from_millis(300)..Duration::from_secs(3)).contains(&began.elapsed()));
    assert_eq!(backend.connections(), 3);
}
