//! Backends that speak HTTP/2: connections that requests share, and what becomes of both sides' streams.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::Builder;
use http::{HeaderMap, Request, Response};
use portcullis_model::Retry;

use crate::support::http2::{Http2, frame, get, run, whole};
use crate::support::http2_backend::{Asked, Http2Backend, requests};
use crate::support::{Backend, Gateway, Rules, Running, eventually};

fn gateway(backends: &[&Http2Backend]) -> Gateway {
    let addresses: Vec<_> = backends.iter().map(|backend| backend.address).collect();
    Gateway::new().http("", Rules::new().to("/", "web-h2c")).backend("web-h2c", &addresses)
}

fn default() -> Builder {
    Builder::new()
}

#[test]
fn http1_clients_reach_it_over_one_connection() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        let body = String::from_utf8(asked.body().await).unwrap();
        let (parts, _) = (asked.request.method().clone(), ());
        let uri = asked.request.uri().clone();
        assert_eq!(asked.request.headers().get("host"), None);
        assert_eq!(asked.request.headers().get("connection"), None);
        let length =
            asked.request.headers().get("content-length").map(|value| value.to_str().unwrap().to_owned());
        asked.answer(format!("{parts} {uri} {length:?} {body}"));
    });
    let running = Running::start(&gateway(&[&backend]));
    let mut client = running.client();
    client.send(
        "GET /x?y=1 HTTP/1.1\r\nHost: a.test:81\r\nConnection: keep-alive, x-gone\r\nX-Gone: 1\r\n\r\n",
    );
    assert_eq!(client.answer().body, "GET http://a.test:81/x?y=1 None ");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(client.answer().body, r#"POST http://a/ Some("5") hello"#);
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
    let answer = client.answer();
    assert_eq!(answer.body, "PUT http://a/ None hi");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!((backend.connections(), backend.streams()), (1, 3));
}

/// An answer that ends with its head must not leave an HTTP/1 client waiting for the end of the connection.
#[test]
fn answers_without_a_body_have_an_end_for_http1_clients() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        let status = asked.request.uri().path()[1..].parse::<u16>().unwrap();
        let mut response = Response::builder().status(status);
        if status == 304 {
            response = response.header("content-length", "12");
        }
        asked.respond.send_response(response.body(()).unwrap(), true).unwrap();
    });
    let running = Running::start(&gateway(&[&backend]));
    let mut client = running.client();
    client.send("GET /200 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().header("content-length"), Some("0"));
    client.send("GET /204 HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("content-length")), (204, None));
    for _ in 0..2 {
        client.send("GET /304 HTTP/1.1\r\nHost: a\r\nIf-None-Match: x\r\n\r\n");
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("content-length")), (304, Some("12")));
    }
}

/// The head of an answer meets one limit, whatever the version counts for each field.
#[test]
fn large_heads_of_answers_meet_the_same_limit_as_over_http1() {
    /// Fields that take so many KiB as lines.
    fn lines(fields: usize, kib: usize) -> impl Iterator<Item = (String, String)> {
        (0..fields).map(move |number| (format!("x-{number:03}"), "x".repeat((kib << 10) / fields - 9)))
    }
    fn wish(path: &str) -> (usize, usize) {
        let (fields, kib) = path[1..].split_once('/').unwrap();
        (fields.parse().unwrap(), kib.parse().unwrap())
    }
    let http2 = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        let (fields, kib) = wish(asked.request.uri().path());
        let response =
            lines(fields, kib).fold(Response::builder(), |head, (name, value)| head.header(name, value));
        asked.respond.send_response(response.body(()).unwrap(), true).unwrap();
    });
    let http1 = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let (fields, kib) = wish(head.split(' ').nth(1).unwrap());
            let lines: String =
                lines(fields, kib).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            connection.write(format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n"));
        }
    });
    let gateway = Gateway::new()
        .http("one.test", Rules::new().to("/", "web"))
        .http("two.test", Rules::new().to("/", "web-h2c"))
        .backend("web", &[http1.address])
        .backend("web-h2c", &[http2.address]);
    let running = Running::start(&gateway);
    for host in ["one.test", "two.test"] {
        for (path, status) in [
            ("/1/60", 200),
            ("/200/60", 200),
            ("/1/65", 502),
            ("/200/65", 502),
            ("/1/200", 502),
            ("/1/1", 200),
        ] {
            assert_eq!(running.client().get(host, path).status, status, "{path} of {host}");
        }
    }
}

/// A backend of HTTP/2 that takes a request, with its body, and then breaks the protocol; and how often it was connected
/// to.
fn breaking() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            stream.write_all(&frame(4, 0, 0, b"")).unwrap();
            let mut heard = Vec::new();
            let mut buffer = [0; 4096];
            while !heard.windows(9).any(|window| window == b"processed") {
                let read = stream.read(&mut buffer).unwrap();
                heard.extend_from_slice(&buffer[..read]);
            }
            stream.write_all(&frame(0, 0, 0, b"data of no stream")).unwrap();
            let _ = stream.read_to_end(&mut heard);
        }
    });
    (address, connections)
}

/// RFC 9110 §9.2.2: what may have been processed is not sent again, whether or not the rule has retries.
#[test]
fn a_post_is_not_sent_again_when_its_connection_breaks() {
    let every = Retry { codes: vec![500, 502, 503, 504], attempts: 5, backoff: Duration::from_millis(1) };
    for retry in [None, Some(every)] {
        let (address, connections) = breaking();
        let mut rules = Rules::new().to("/", "web-h2c");
        if let Some(retry) = retry {
            rules = rules.retry(retry);
        }
        let running = Running::start(&Gateway::new().http("", rules).backend("web-h2c", &[address]));
        let answer = running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nprocessed");
        assert_eq!((answer.status, connections.load(Ordering::SeqCst)), (502, 1));
        run(async {
            let mut client = Http2::connect(running.address()).await;
            let (answer, mut body) = client.begin(Request::post("http://a/").body(()).unwrap(), false).await;
            body.send_data(Bytes::from_static(b"processed"), true).unwrap();
            assert_eq!(answer.await.unwrap().status(), 502);
        });
        assert_eq!(connections.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn bodies_trailers_and_interim_answers_pass() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        assert_eq!(asked.request.headers()["te"], "trailers");
        let early = Response::builder().status(103).header("link", "</x>").body(()).unwrap();
        asked.respond.send_informational(early).unwrap();
        let body = asked.body().await;
        let trailers = asked.request.body_mut().trailers().await.unwrap().unwrap();
        assert_eq!((&body[..], trailers["x-sum"].to_str().unwrap()), (&b"hello"[..], "1"));
        let mut answer = asked.respond.send_response(Response::new(()), false).unwrap();
        answer.send_data(Bytes::from_static(b"hi"), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", "0".parse().unwrap());
        answer.send_trailers(trailers).unwrap();
    });
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let request = Request::post("http://a/").header("te", "trailers").body(()).unwrap();
        let (mut answer, mut body) = client.begin(request, false).await;
        body.send_data(Bytes::from_static(b"hello"), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "1".parse().unwrap());
        body.send_trailers(trailers).unwrap();
        let early = std::future::poll_fn(|cx| answer.poll_informational(cx)).await.unwrap().unwrap();
        assert_eq!((early.status().as_u16(), &early.headers()["link"]), (103, &"</x>".parse().unwrap()));
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!(
            (&answer.body[..], &answer.trailers.unwrap()["grpc-status"]),
            (&b"hi"[..], &"0".parse().unwrap())
        );
    });
    let mut client = running.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n");
    assert_eq!(client.answer().status, 103);
    let answer = client.answer();
    assert_eq!((&answer.body[..], &answer.trailers[..]), ("hi", &["grpc-status: 0".to_owned()][..]));
}

#[test]
fn a_large_body_goes_both_ways_under_flow_control() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        let mut answer = asked.respond.send_response(Response::new(()), false).unwrap();
        while let Some(data) = asked.request.body_mut().data().await {
            let mut data = data.unwrap();
            asked.request.body_mut().flow_control().release_capacity(data.len()).unwrap();
            while !data.is_empty() {
                answer.reserve_capacity(data.len());
                let room = std::future::poll_fn(|cx| answer.poll_capacity(cx)).await.unwrap().unwrap();
                answer.send_data(data.split_to(room.min(data.len())), false).unwrap();
            }
        }
        answer.send_data(Bytes::new(), true).unwrap();
    });
    let running = Running::start(&gateway(&[&backend]));
    let text = "0123456789abcdef".repeat(256 * 1024); // 4 MiB
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let request = Request::put("http://a/").body(()).unwrap();
        let (answer, mut body) = client.begin(request, false).await;
        body.send_data(Bytes::from(text.clone()), true).unwrap();
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert!(answer.body == text);
    });
    let mut client = running.client();
    let mut writer = client.stream.try_clone().unwrap();
    let sent = text.clone();
    let writing = std::thread::spawn(move || {
        let head = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", sent.len());
        Write::write_all(&mut writer, (head + &sent).as_bytes()).unwrap();
    });
    assert!(client.answer().body == text);
    writing.join().unwrap();
}

/// More streams than an endpoint allows open another connection; requests share one until then.
#[test]
fn an_endpoints_limit_of_streams_is_kept() {
    let mut settings = Builder::new();
    settings.max_concurrent_streams(2);
    let backend = Http2Backend::handling(&settings, |asked: Asked| async move {
        if asked.request.uri().path() != "/first" {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let connection = asked.connection.to_string();
        asked.answer(connection);
    });
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        client.get("a", "/first").await; // its SETTINGS are known now
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(client.begin(get("a", "/"), true).await.0);
        }
        let mut seen = std::collections::BTreeMap::new();
        for answer in answers {
            *seen.entry(whole(answer.await.unwrap()).await.unwrap().body).or_insert(0) += 1;
        }
        assert!(seen.values().all(|streams| *streams <= 2), "{seen:?}");
    });
    assert!(backend.connections() >= 3);
}

/// The choice is made per stream, not per connection.
#[test]
fn streams_are_balanced_over_endpoints() {
    let backends = [Http2Backend::named("a"), Http2Backend::named("b"), Http2Backend::named("c")];
    let running = Running::start(&gateway(&backends.iter().collect::<Vec<_>>()));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        for _ in 0..30 {
            assert_eq!(client.get("a", "/").await.status(), 200);
        }
    });
    assert_eq!(backends.each_ref().map(Http2Backend::streams), [10, 10, 10]);
    assert_eq!(backends.each_ref().map(Http2Backend::connections), [1, 1, 1]);
}

/// RFC 9113 §8.7: a stream refused unprocessed is sent anew, with its body.
#[test]
fn a_refused_stream_is_sent_anew_with_its_body() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        let body = asked.body().await;
        match asked.stream {
            0 => asked.respond.send_reset(Reason::REFUSED_STREAM),
            _ => asked.answer(body),
        }
    });
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (answer, mut body) = client.begin(Request::post("http://a/").body(()).unwrap(), false).await;
        body.send_data(Bytes::from_static(b"hello"), true).unwrap();
        let answer = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!((answer.status(), &answer.body[..]), (200, &b"hello"[..]));
    });
    assert_eq!(backend.streams(), 2);
}

#[test]
fn a_stream_refused_twice_is_503() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        asked.respond.send_reset(Reason::REFUSED_STREAM);
    });
    let running = Running::start(&gateway(&[&backend]));
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 503);
    assert_eq!(backend.streams(), 2);
    eventually(|| running.metrics().contains("reason=\"upstream_refused\"").then_some(()));
}

/// A stream that was begun and reset may have been processed.
#[test]
fn a_stream_reset_otherwise_is_502_and_not_sent_anew() {
    let backend = Http2Backend::handling(&default(), |mut asked: Asked| async move {
        asked.respond.send_reset(Reason::INTERNAL_ERROR);
    });
    let running = Running::start(&gateway(&[&backend]));
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 502);
    assert_eq!(backend.streams(), 1);
}

/// A connection that the endpoint leaves ends with its streams, and no request is lost meanwhile.
#[test]
fn requests_beyond_a_goaway_take_another_connection() {
    let backend = Http2Backend::serving(&default(), None, |mut connection, number, streams| async move {
        let mut left = 5;
        while let Some(Ok((request, respond))) = connection.accept().await {
            let stream = streams.fetch_add(1, Ordering::SeqCst);
            let asked = Asked { request, respond, connection: number, stream };
            tokio::spawn(async move { asked.answer(number.to_string()) });
            left -= 1;
            if left == 0 {
                connection.graceful_shutdown();
            }
        }
    });
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        for _ in 0..50 {
            assert_eq!(client.get("a", "/").await.status(), 200);
        }
    });
    assert!(backend.connections() >= 8, "{}", backend.connections());
}

#[test]
fn resets_pass_both_ways() {
    let (told, cancelled) = std::sync::mpsc::channel();
    let told = Arc::new(std::sync::Mutex::new(told));
    let backend = Http2Backend::handling(&default(), move |mut asked: Asked| {
        let told = Arc::clone(&told);
        async move {
            let mut answer = asked.respond.send_response(Response::new(()), false).unwrap();
            if asked.request.uri().path() == "/reset" {
                answer.send_data(Bytes::from_static(b"part"), false).unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
                return answer.send_reset(Reason::CANCEL);
            }
            let code = std::future::poll_fn(|cx| answer.poll_reset(cx)).await.unwrap();
            told.lock().unwrap().send(code).unwrap();
        }
    });
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (answer, _) = client.begin(get("a", "/reset"), true).await;
        let error = whole(answer.await.unwrap()).await.unwrap_err();
        assert_eq!(error.reason(), Some(Reason::CANCEL));
        let (answer, body) = client.begin(Request::post("http://a/hold").body(()).unwrap(), false).await;
        let answer = answer.await.unwrap();
        drop((answer, body)); // resets the stream
        let code = tokio::task::spawn_blocking(move || cancelled.recv().unwrap()).await.unwrap();
        assert_eq!(code, Reason::CANCEL);
    });
}

/// One request opens a connection while the others wait for it.
#[test]
fn requests_that_come_at_once_share_the_connection_that_the_first_opens() {
    let backend = Http2Backend::named("web");
    let running = Running::start(&gateway(&[&backend]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let mut answers = Vec::new();
        for _ in 0..50 {
            answers.push(client.begin(get("a", "/"), true).await.0);
        }
        for answer in answers {
            assert_eq!(answer.await.unwrap().status(), 200);
        }
    });
    assert_eq!(backend.connections(), 1);
}

#[test]
fn nobody_there_is_503_for_all_who_wait() {
    let gateway = Gateway::new().http("", Rules::new().to("/", "web-h2c"));
    let running = Running::start(&gateway.backend("web-h2c", &[crate::support::backend::nobody()]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let mut answers = Vec::new();
        for _ in 0..20 {
            answers.push(client.begin(get("a", "/"), true).await.0);
        }
        for answer in answers {
            assert_eq!(answer.await.unwrap().status(), 503);
        }
    });
}

#[test]
fn an_endpoint_that_speaks_something_else_is_502() {
    let backend = Backend::scripted(|connection| {
        connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        connection.rest();
    });
    let gateway = Gateway::new().http("", Rules::new().to("/", "web-h2c"));
    let running = Running::start(&gateway.backend("web-h2c", &[backend.address]));
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 502);
}

/// A dead endpoint says nothing: the answer that it owes ends when it does not answer a ping either.
#[test]
fn an_endpoint_that_died_silently_is_found_by_a_ping() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let gateway = Gateway::new().http("", Rules::new().to("/", "web-h2c"));
    let gateway = gateway.backend("web-h2c", &[listener.local_addr().unwrap()]);
    let running = Running::limited(&gateway, |limits| {
        limits.upstream_h2_ping = Duration::from_millis(50);
        limits.upstream_h2_ping_timeout = Duration::from_millis(50);
    });
    let answer = running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer.status, 502);
}

#[test]
fn idle_connections_are_closed() {
    let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = Arc::clone(&ended);
    let backend = Http2Backend::serving(&default(), None, move |connection, number, streams| {
        let told = Arc::clone(&told);
        async move {
            requests(connection, number, &streams, |asked| async move { asked.answer("web") }).await;
            told.store(true, Ordering::SeqCst);
        }
    });
    let running = Running::limited(&gateway(&[&backend]), |limits| {
        limits.upstream_h2_idle_timeout = Duration::from_millis(1);
    });
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    eventually(|| ended.load(Ordering::SeqCst).then_some(()));
}
