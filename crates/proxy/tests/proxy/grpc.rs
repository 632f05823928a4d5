//! gRPC calls: which rule takes them, what they carry, and in which words they are refused.

use std::time::Duration;

use bytes::Bytes;
use h2::server::Builder;
use http::{HeaderMap, Request, Response};
use portcullis_model::{Action, Failure, FailureReason, Filter, HeaderModifier, HeaderName, HeaderValue};

use crate::support::backend::nobody;
use crate::support::http2::{Answer, Http2, run, whole};
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::forward;
use crate::support::{Backend, Gateway, Rules, Running};

fn call(path: &str) -> Request<()> {
    let request = Request::post(format!("http://a{path}")).header("te", "trailers");
    request.header("content-type", "application/grpc").body(()).unwrap()
}

/// A backend that answers a call with its own metadata and message.
fn echo() -> Http2Backend {
    Http2Backend::handling(&Builder::new(), |mut asked: Asked| async move {
        let mut response = Response::builder().header("content-type", "application/grpc");
        for (name, value) in asked.request.headers() {
            response = response.header(format!("got-{name}"), value);
        }
        let body = asked.body().await;
        let mut answer = asked.respond.send_response(response.body(()).unwrap(), false).unwrap();
        answer.send_data(body.into(), false).unwrap();
        answer.send_trailers(status("0")).unwrap();
    })
}

fn status(status: &str) -> HeaderMap {
    HeaderMap::from_iter([("grpc-status".parse().unwrap(), status.parse().unwrap())])
}

async fn send(client: &mut Http2, request: Request<()>, message: &'static [u8]) -> Answer {
    let (answer, mut body) = client.begin(request, false).await;
    body.send_data(Bytes::from_static(message), true).unwrap();
    whole(answer.await.unwrap()).await.unwrap()
}

/// RequestHeaderModifier on calls, binary metadata included; `grpc-timeout` and `te` reach the backend.
#[test]
fn metadata_reaches_the_backend_as_the_filters_leave_it() {
    let backend = echo();
    let name = |name: &str| HeaderName::new(name).unwrap();
    let field = |field: &str, value: &str| (name(field), HeaderValue::new(value.as_bytes()).unwrap());
    let modifier = HeaderModifier {
        set: vec![field("x-set", "new")],
        add: vec![field("x-add", "more")],
        remove: vec![name("x-gone")],
    };
    let rules = Rules::new().call("a.B", "", forward(&[("web-h2c", 1)]));
    let rules = rules.filters(vec![Filter::RequestHeaders(modifier)]);
    let running =
        Running::start(&Gateway::new().grpc("", Rules::new(), rules).backend("web-h2c", &[backend.address]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let mut request = call("/a.B/Get");
        for (name, value) in [
            ("x-set", "old"),
            ("x-add", "some"),
            ("x-gone", "1"),
            ("x-kept-bin", "AAEC"),
            ("grpc-timeout", "5S"),
        ] {
            request.headers_mut().append(name, value.parse().unwrap());
        }
        let answer = send(&mut client, request, b"message").await;
        let got = |name: &str| {
            answer.head.headers().get(format!("got-{name}")).map(|value| value.to_str().unwrap())
        };
        assert_eq!((answer.status(), &answer.body[..]), (200, &b"message"[..]));
        assert_eq!(answer.trailers.as_ref().unwrap()["grpc-status"], "0");
        assert_eq!((got("x-set"), got("x-add"), got("x-gone")), (Some("new"), Some("some,more"), None));
        assert_eq!(
            (got("x-kept-bin"), got("grpc-timeout"), got("te")),
            (Some("AAEC"), Some("5S"), Some("trailers"))
        );
        assert_eq!(got("content-type"), Some("application/grpc"));
    });
}

/// A trailers-only answer is one head that ends the stream, and stays so.
#[test]
fn trailers_only_answers_pass_unchanged() {
    let backend = Http2Backend::handling(&Builder::new(), |mut asked: Asked| async move {
        let answer = Response::builder().header("content-type", "application/grpc");
        let answer =
            answer.header("grpc-status", "5").header("grpc-message", "none%20such").body(()).unwrap();
        asked.respond.send_response(answer, true).unwrap();
    });
    let rules = Rules::new().call("", "", forward(&[("web-h2c", 1)]));
    let running =
        Running::start(&Gateway::new().grpc("", Rules::new(), rules).backend("web-h2c", &[backend.address]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (answer, _body) = client.begin(call("/a.B/Get"), false).await;
        let answer = answer.await.unwrap();
        assert!(answer.body().is_end_stream());
        assert_eq!(answer.headers()["grpc-status"], "5");
        assert_eq!(answer.headers()["grpc-message"], "none%20such");
        assert_eq!(answer.headers().get("content-length"), None);
    });
}

/// A stream that fails after messages says so in its trailers, which pass as they are, to calls over HTTP/1.1 backends'
/// words too: `grpc-status-details-bin` and whatever else there is.
#[test]
fn trailers_of_a_stream_that_fails_midway_pass_unchanged() {
    const MESSAGES: [&[u8]; 2] = [b"\0\0\0\0\x01a", b"\0\0\0\0\x01b"];
    const TRAILERS: [(&str, &str); 4] = [
        ("grpc-status", "10"),
        ("grpc-message", "lost%20the%20race"),
        ("grpc-status-details-bin", "CAoSBGxvc3Q"),
        ("x-own", "1"),
    ];
    let backend = Http2Backend::handling(&Builder::new(), |mut asked: Asked| async move {
        let response = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
        let mut answer = asked.respond.send_response(response, false).unwrap();
        for message in MESSAGES {
            answer.send_data(Bytes::from_static(message), false).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await; // in frames of their own
        }
        let trailers = TRAILERS.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        answer.send_trailers(HeaderMap::from_iter(trailers)).unwrap();
    });
    let rules = Rules::new().call("", "", forward(&[("web-h2c", 1)]));
    let running =
        Running::start(&Gateway::new().grpc("", Rules::new(), rules).backend("web-h2c", &[backend.address]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let answer = send(&mut client, call("/a.B/Watch"), b"\0\0\0\0\0").await;
        assert_eq!(answer.body, MESSAGES.concat());
        assert_eq!(answer.head.headers().get("grpc-status"), None);
        let trailers = answer.trailers.unwrap();
        let trailers: Vec<_> =
            trailers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(trailers, TRAILERS);
    });
}

/// Calls try GRPCRoutes first, then HTTPRoutes; other requests see HTTPRoutes alone.
#[test]
fn calls_fall_back_to_http_routes_and_requests_see_these_alone() {
    let (grpc, http) = (echo(), Backend::named("http"));
    let gateway = Gateway::new().grpc(
        "",
        Rules::new().to("/", "http"),
        Rules::new().call("a.B", "", forward(&[("grpc-h2c", 1)])),
    );
    let gateway = gateway.backend("grpc-h2c", &[grpc.address]).backend("http", &[http.address]);
    let running = Running::start(&gateway);
    run(async {
        let mut client = Http2::connect(running.address()).await;
        assert_eq!(&send(&mut client, call("/a.B/Get"), b"call").await.body[..], b"call");
        assert_eq!(&send(&mut client, call("/a.C/Get"), b"").await.body[..], b"http");
        assert_eq!(&client.get("a", "/a.B/Get").await.body[..], b"http");
    });
}

/// What others are told by a status of HTTP is a gRPC status in a trailers-only answer, whatever route is at fault.
#[test]
fn the_gateways_own_answers_to_calls_have_a_grpc_status() {
    let fail = |status| {
        let reason = FailureReason::BackendInvalid;
        Action::Fail(Failure { status, reason, message: "".into() })
    };
    let silent = Http2Backend::handling(&Builder::new(), |asked: Asked| async move {
        std::future::pending::<()>().await;
        drop(asked);
    });
    let rules = Rules::new()
        .call("fail", "", fail(500))
        .call("weightless", "", fail(503))
        .call("nobody", "", forward(&[("nobody-h2c", 1)]))
        .call("nowhere", "", forward(&[("nowhere-h2c", 1)]))
        .call("late", "", forward(&[("silent-h2c", 1)]))
        .timeouts(None, Some(50));
    let gateway = Gateway::new().grpc("a", Rules::new().rule("/http", fail(500)), rules);
    let gateway = gateway
        .backend("nobody-h2c", &[nobody()])
        .backend("nowhere-h2c", &[])
        .backend("silent-h2c", &[silent.address]);
    let running = Running::limited(&gateway, |limits| limits.body_bytes = portcullis_proxy::Bytes(3));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        for (path, status, reason) in [
            ("/fail/M", "14", "backend_invalid"),
            ("/weightless/M", "14", "backend_invalid"),
            ("/nobody/M", "14", "connect_refused"),
            ("/nowhere/M", "14", "no_endpoint"),
            ("/late/M", "4", "backend_timeout"),
            ("/unknown/M", "12", "no_rule"),
            ("/http/M", "14", "backend_invalid"),
        ] {
            let answer = send(&mut client, call(path), b"hi").await;
            let header = |name: &str| answer.head.headers()[name].to_str().unwrap();
            assert_eq!((answer.status(), header("grpc-status")), (200, status), "{path}");
            assert_eq!(
                (header("grpc-message"), header("content-type")),
                (reason, "application/grpc"),
                "{path}"
            );
            assert!(answer.body.is_empty() && answer.trailers.is_none(), "{path}");
        }
        let mut elsewhere = call("/fail/M");
        *elsewhere.uri_mut() = "http://other.test/fail/M".parse().unwrap();
        assert_eq!(send(&mut client, elsewhere, b"hi").await.head.headers()["grpc-status"], "12");
        assert_eq!(send(&mut client, call("/late/M"), b"long").await.head.headers()["grpc-status"], "8");
    });
    let answer = running.send("GET /http HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((answer.status, answer.header("grpc-status")), (500, None));
}

/// A stream may be silent for as long as its users like, where a body that owes bytes may not.
#[test]
fn a_silent_stream_lives_on() {
    let backend = echo();
    let rules = Rules::new().call("", "", forward(&[("web-h2c", 1)]));
    let gateway = Gateway::new().grpc("", Rules::new(), rules).backend("web-h2c", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.body_timeout = Duration::from_millis(50));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (answer, mut body) = client.begin(call("/a.B/Watch"), false).await;
        body.send_data(Bytes::from_static(b"one"), false).unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        body.send_data(Bytes::from_static(b"two"), true).unwrap();
        assert_eq!(&whole(answer.await.unwrap()).await.unwrap().body[..], b"onetwo");
    });
}

/// A client that is gone without a word is found out by a ping, though its stream may be silent.
#[test]
fn a_client_that_died_silently_is_found_by_a_ping() {
    use crate::support::http2::{Raw, frame};
    let (told, ended) = std::sync::mpsc::channel();
    let told = std::sync::Arc::new(std::sync::Mutex::new(told));
    let backend = Http2Backend::handling(&Builder::new(), move |mut asked: Asked| {
        let told = std::sync::Arc::clone(&told);
        async move {
            let code = std::future::poll_fn(|cx| asked.respond.poll_reset(cx)).await.unwrap();
            told.lock().unwrap().send(code).unwrap();
        }
    });
    let gateway = Gateway::new().http("", Rules::new().to("/", "web-h2c"));
    let gateway = gateway.backend("web-h2c", &[backend.address]);
    let running = Running::limited(&gateway, |limits| {
        limits.h2_ping = Duration::from_millis(50);
        limits.h2_ping_timeout = Duration::from_millis(50);
    });
    let mut client = Raw::connect(running.address(), b"");
    client.send(&frame(1, 5, 1, crate::support::http2::GET));
    assert_eq!(ended.recv_timeout(crate::support::PATIENCE).unwrap(), h2::Reason::CANCEL);
}

/// What an endpoint does not take waits in windows, and nowhere else.
#[test]
fn a_stream_that_nobody_reads_holds_no_more_than_its_windows() {
    let backend = Http2Backend::handling(&Builder::new(), |asked: Asked| async move {
        std::future::pending::<()>().await;
        drop(asked);
    });
    let rules = Rules::new().call("", "", forward(&[("web-h2c", 1)]));
    let running =
        Running::start(&Gateway::new().grpc("", Rules::new(), rules).backend("web-h2c", &[backend.address]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let (_answer, mut body) = client.begin(call("/a.B/Upload"), false).await;
        let mut sent = 0;
        loop {
            body.reserve_capacity(64 * 1024);
            let room = std::future::poll_fn(|cx| body.poll_capacity(cx));
            match tokio::time::timeout(Duration::from_millis(300), room).await {
                Ok(room) => {
                    let room = room.unwrap().unwrap();
                    body.send_data(vec![0; room].into(), false).unwrap();
                    sent += room;
                }
                Err(_) => break,
            }
        }
        assert!((128 * 1024..1024 * 1024).contains(&sent), "{sent}");
    });
}
