//! Timeouts of rules and of clients, limits.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_model::{
    CaSet, Filter, HeaderModifier, Hostname, Mirror, MirrorShare, Retry, RewriteUrl, TlsOptions, Trust,
    UpstreamTls,
};

use crate::support::http2::{GET, Http2, Raw, frame, run};
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::{cluster_key, forward, origin, requests};
use crate::support::tls::Authority;
use crate::support::tls_backend::{TlsBackend, config};
use crate::support::{Backend, Client, Gateway, PATIENCE, Rules, Running, eventually};

#[test]
fn a_request_timeout_is_504_and_the_connection_lives() {
    for (request, backend) in [(Some(100), None), (None, Some(100)), (Some(100), Some(5000))] {
        let server = Backend::silent();
        let rules = Rules::new().to("/slow", "web").timeouts(request, backend);
        let running = Running::start(&Gateway::new().http("", rules).backend("web", &[server.address]));
        let mut client = running.client();
        let before = Instant::now();
        assert_eq!(client.get("a", "/slow").status, 504);
        assert!(before.elapsed() >= Duration::from_millis(100));
        assert_eq!(client.get("a", "/other").status, 404);
    }
}

/// Rules with a time of 100 ms for a request, each with something else beside it.
fn timed_rules() -> Rules {
    let mirror = Mirror {
        origin: origin("Service", "web"),
        port: Some(80),
        cluster: cluster_key("web", requests("web")),
        share: MirrorShare::ALL,
    };
    let rewrite = RewriteUrl { hostname: Hostname::new("x.test"), path: None };
    let every = Retry { codes: vec![500], attempts: 9, backoff: Duration::from_millis(1) };
    let timed = |rules: Rules| rules.timeouts(Some(100), None);
    let mut rules = timed(Rules::new().to("/filters", "web").filters(vec![
        Filter::Rewrite(rewrite),
        Filter::RequestHeaders(HeaderModifier::default()),
        Filter::Mirror(mirror),
    ]));
    rules = timed(rules.to("/retry", "web").retry(every));
    rules = timed(rules.rule("/weights", forward(&[("web", 1), ("web-h2c", 1)])));
    rules = timed(rules.to("/h2c", "web-h2c"));
    timed(rules.to("/tls", "secure"))
}

/// A rule's time holds whatever else the rule has, and however client and backend speak.
#[test]
fn a_rules_time_holds_beside_everything_else() {
    let authority = Authority::new();
    let silent = Backend::silent();
    let hanging =
        || TlsBackend::with(config(&authority.server(&["b.test"]), None), |client| drop(client.rest()));
    let secure = hanging();
    let silent2 = Http2Backend::handling(&h2::server::Builder::new(), |asked: Asked| async move {
        std::future::pending::<()>().await;
        drop(asked);
    });
    let policy = UpstreamTls {
        origin: origin("BackendTLSPolicy", "policy"),
        hostname: Hostname::new("b.test").unwrap(),
        names: Vec::new(),
        trust: Trust::Given(Arc::new(CaSet::new(vec![authority.bundle()]).unwrap())),
        options: TlsOptions::default(),
    };
    let gateway = Gateway::new()
        .http("", timed_rules())
        .backend("web", &[silent.address])
        .backend("web-h2c", &[silent2.address])
        .backend("secure", &[secure.address])
        .tls("secure", policy);
    let running = Running::start(&gateway);
    for path in ["/filters", "/retry", "/weights", "/weights", "/h2c", "/tls"] {
        let before = Instant::now();
        let mut client = running.client();
        assert_eq!(client.get("a", path).status, 504, "{path}");
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"));
        assert_eq!(client.answer().status, 504, "an upgrade of {path}");
        client.send(format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"));
        assert_eq!(client.answer().status, 504, "a body to {path}");
        run(async {
            let mut client = Http2::connect(running.address()).await;
            assert_eq!(client.get("a", path).await.status(), 504, "{path} over HTTP/2");
        });
        assert!((Duration::from_millis(400)..PATIENCE).contains(&before.elapsed()), "{path}");
    }
}

#[test]
fn past_the_head_expiry_cuts_the_answer() {
    let server = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        connection.rest();
    });
    let rules = Rules::new().to("/", "web").timeouts(Some(100), None);
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[server.address]));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.rest(), "half");
}

#[test]
fn a_tunnel_is_free_of_timeouts() {
    let server = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        let said = connection.exactly(2);
        connection.write(said);
    });
    let rules = Rules::new().to("/", "web").timeouts(Some(50), Some(50));
    let running = Running::start(&Gateway::new().http("", rules).backend("web", &[server.address]));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.head().status, 101);
    std::thread::sleep(Duration::from_millis(150)); // longer than both timeouts: nothing to be awaited
    client.send("ok");
    assert_eq!(client.exactly(2), "ok");
}

#[test]
fn a_slow_head_is_408() {
    let running = Running::limited(&Gateway::to(Backend::silent().address), |limits| {
        limits.head_timeout = Duration::from_millis(100);
    });
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost:");
    assert_eq!(client.answer().status, 408);
    assert_eq!(client.rest(), "");
}

#[test]
fn a_connection_without_a_request_ends_silently() {
    let backend = Backend::named("web");
    let running = Running::limited(&Gateway::to(backend.address), |limits| {
        limits.head_timeout = Duration::from_millis(100);
        limits.idle_timeout = Duration::from_millis(100);
    });
    assert_eq!(running.client().rest(), "");
    let mut client = running.client();
    assert_eq!(client.get("a", "/").status, 200);
    assert_eq!(client.rest(), "");
}

#[test]
fn a_slow_body_is_408() {
    let server = Backend::silent();
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.body_timeout = Duration::from_millis(100);
    });
    let mut client = running.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(client.answer().status, 408);
}

/// A client that does not read what it asked for holds a backend's connection.
#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let (ended, has_ended) = std::sync::mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    let server = Backend::scripted(move |connection| {
        connection.request();
        connection.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20));
        connection.write(vec![b'x'; 64 << 20]); // more than any buffer: it ends when the proxy closes
        ended.lock().unwrap().send(()).unwrap();
    });
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.body_timeout = Duration::from_millis(100);
    });
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    has_ended.recv_timeout(PATIENCE).unwrap();
}

/// The same of HTTP/2, where a client can hold an answer back without a full socket.
#[test]
fn a_client_that_opens_no_window_is_cut_off() {
    let server = Backend::named("web");
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.body_timeout = Duration::from_millis(100);
    });
    let no_window = [0, 4, 0, 0, 0, 0]; // SETTINGS_INITIAL_WINDOW_SIZE
    let mut client = Raw::connect(running.address(), &no_window);
    client.send(&frame(1, 5, 1, GET));
    assert!(
        client.until(&frame(3, 0, 1, &2u32.to_be_bytes())),
        "the stream is reset, and the connection lives"
    );
    client.ping();
}

#[test]
fn a_body_over_the_limit_is_413() {
    let server = Backend::silent();
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.set("body-bytes", "10").unwrap();
    });
    assert_eq!(running.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n").status, 413);
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n";
    assert_eq!(running.send(chunked).status, 413);
}

#[test]
fn connections_over_the_limit_are_closed() {
    let backend = Backend::named("web");
    let running = Running::limited(&Gateway::to(backend.address), |limits| limits.connections_per_port = 1);
    let mut first = running.client();
    assert_eq!(first.get("a", "/").status, 200);
    assert_eq!(running.client().rest(), "");
    assert_eq!(first.get("a", "/").status, 200);
}

#[test]
fn a_backend_with_too_many_requests_is_503() {
    let server = Backend::silent();
    let running = Running::limited(&Gateway::to(server.address), |limits| limits.upstream_requests = 1);
    let mut first = running.client();
    first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.head();
    assert_eq!(running.client().get("a", "/").status, 503);
}

/// Pooled connections are closed before common backends close them.
#[test]
fn idle_connections_to_backends_are_closed() {
    let (closed, is_closed) = std::sync::mpsc::channel();
    let closed = std::sync::Mutex::new(closed);
    let server = Backend::scripted(move |connection| {
        connection.request();
        connection.answer("x");
        connection.rest();
        closed.lock().unwrap().send(()).unwrap();
    });
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.upstream_idle_timeout = Duration::from_millis(10);
    });
    assert_eq!(running.client().get("a", "/").status, 200);
    is_closed.recv_timeout(PATIENCE).unwrap();
}

/// A backend that never reads tells when its connection has ended.
fn deaf() -> (Backend, std::sync::mpsc::Receiver<String>) {
    let (ended, has_ended) = std::sync::mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    let server = Backend::scripted(move |connection| {
        connection.wait_for_end();
        ended.lock().unwrap().send(connection.rest()).unwrap();
    });
    (server, has_ended)
}

/// Sends an upload until nobody takes any more of it.
fn upload_until_blocked(client: &mut Client) {
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 1 << 30));
    client.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    while client.stream.write(&[b'x'; 64 << 10]).is_ok() {}
}

/// The endpoint has no room, so nothing more is read from the client, whose reset comes behind what is unread.
#[test]
fn a_client_that_resets_its_upload_to_an_endpoint_that_hangs_is_noticed() {
    let (server, has_ended) = deaf();
    let running = Running::start(&Gateway::to(server.address));
    let mut client = running.client();
    upload_until_blocked(&mut client);
    socket2::SockRef::from(&client.stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    eventually(|| (running.proxy.open_connections() == 0).then_some(()));
    assert!(has_ended.recv_timeout(PATIENCE).unwrap().starts_with("POST / HTTP/1.1\r\n"));
}

#[test]
fn an_endpoint_that_takes_nothing_of_an_upload_is_504() {
    let (server, has_ended) = deaf();
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.set("upstream-send-timeout", "500ms").unwrap();
    });
    let mut client = running.client();
    upload_until_blocked(&mut client);
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("connection")), (504, Some("close")));
    has_ended.recv_timeout(PATIENCE).unwrap();
    let counted = "portcullis_requests_total{reason=\"send_timeout\"} 1\n";
    eventually(|| running.metrics().contains(counted).then_some(()));
}

/// An endpoint that takes a little now and then is slow, and not silent.
#[test]
fn an_endpoint_that_takes_an_upload_slowly_is_waited_for() {
    let server = Backend::scripted(|connection| {
        connection.request();
        for _ in 0..24 {
            std::thread::sleep(Duration::from_millis(50)); // all together longer than the timeout: nothing to be awaited
            connection.exactly(1 << 20);
        }
        connection.answer("taken");
    });
    let running = Running::limited(&Gateway::to(server.address), |limits| {
        limits.upstream_send_timeout = Duration::from_secs(1);
    });
    let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 24 << 20);
    assert_eq!(running.send(&(request + &"x".repeat(24 << 20))).body, "taken");
}
