//! ExternalAuth by gRPC, its messages taken apart and put together byte by byte.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::Builder;
use http::{HeaderMap, HeaderValue, Response};
use portcullis_model::{AuthProtocol, ExternalAuth, Filter, HeaderName};

use crate::support::backend::fields;
use crate::support::client::Answer;
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::{cluster_key, origin, requests};
use crate::support::{Backend, Gateway, Rules, Running};

/// A field of a message: a length-delimited one.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let (low, high) = (content.len() % 128, u8::try_from(content.len() / 128).unwrap());
    let low = u8::try_from(low).unwrap();
    let length = if high == 0 { vec![low] } else { vec![low | 0x80, high] };
    [&[tag << 3 | 2][..], &length, content].concat()
}

fn number(tag: u8, value: u8) -> Vec<u8> {
    vec![tag << 3, value]
}

fn header(key: &str, value: &str, append: bool) -> Vec<u8> {
    let pair = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let append = if append { field(2, &number(1, 1)) } else { Vec::new() };
    [field(1, &pair), append].concat()
}

/// With `append_action` instead.
fn placed(key: &str, value: &str, action: u8) -> Vec<u8> {
    let pair = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    [field(1, &pair), number(3, action)].concat()
}

fn varint(bytes: &[u8]) -> (usize, usize) {
    let len = bytes.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let value = bytes[..len].iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
    (value, len)
}

/// The contents of the length-delimited fields with this tag.
fn all(mut message: &[u8], tag: usize) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (key, len) = varint(message);
        let (value, more) = varint(&message[len..]);
        message = &message[len + more..];
        if key & 7 == 2 {
            if key >> 3 == tag {
                found.push(&message[..value]);
            }
            message = &message[value..];
        }
    }
    found
}

fn at<'m>(message: &'m [u8], tags: &[usize]) -> &'m [u8] {
    tags.iter().fold(message, |message, tag| all(message, *tag).first().copied().unwrap_or_default())
}

/// A service that gives every call this answer, and where what it was asked is kept.
fn service(message: Vec<u8>, status: &'static str) -> (Http2Backend, Arc<Mutex<Vec<u8>>>) {
    let asked: Arc<Mutex<Vec<u8>>> = Arc::default();
    let kept = Arc::clone(&asked);
    let backend = Http2Backend::handling(&Builder::new(), move |mut asked: Asked| {
        let (message, kept) = (message.clone(), Arc::clone(&kept));
        async move {
            assert_eq!(asked.request.uri().path(), "/envoy.service.auth.v3.Authorization/Check");
            assert_eq!(asked.request.headers()["content-type"], "application/grpc");
            assert_eq!(asked.request.headers()["te"], "trailers");
            let body = asked.body().await;
            assert_eq!(
                usize::try_from(u32::from_be_bytes(body[1..5].try_into().unwrap())).unwrap(),
                body.len() - 5
            );
            *kept.lock().unwrap() = body[5..].to_vec();
            let length = u32::try_from(message.len()).unwrap().to_be_bytes();
            let call = [&[0][..], &length, &message].concat();
            let mut answer = asked.respond.send_response(Response::new(()), false).unwrap();
            answer.send_data(Bytes::from(call), false).unwrap();
            let trailers = HeaderMap::from_iter([(
                http::HeaderName::from_static("grpc-status"),
                HeaderValue::from_static(status),
            )]);
            answer.send_trailers(trailers).unwrap();
        }
    });
    (backend, asked)
}

fn web() -> Backend {
    Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let length = fields(&head, "content-length").first().map_or(0, |length| length.parse().unwrap());
            let body = connection.exactly(length);
            connection.answer(&format!("{head}{body}"));
        }
    })
}

fn guarded(seen: &[&str], body_limit: u32, web: &Backend, service: &Http2Backend) -> Running {
    let filter = Filter::Auth(ExternalAuth {
        origin: origin("Service", "auth-h2c"),
        port: Some(80),
        cluster: cluster_key("auth-h2c", requests("auth-h2c")),
        protocol: AuthProtocol::Grpc,
        request_headers: seen.iter().map(|name| HeaderName::new(name).unwrap()).collect(),
        body_limit,
    });
    let rules = Rules::new().to("/", "web").filters(vec![filter]);
    let gateway = Gateway::new().http("", rules).backend("web", &[web.address]);
    Running::start(&gateway.backend("auth-h2c", &[service.address]))
}

fn ask(running: &Running) -> Answer {
    running.send(
        "POST /a?b=c HTTP/1.1\r\nHost: x.test\r\nCookie: k=v\r\nX-User: root\r\nX-Gone: 1\r\nX-More: a\r\n\
         Content-Length: 5\r\n\r\nhello",
    )
}

/// `OkHttpResponse`: its headers go on to the backend in the place of the client's or, with `append`, beside them.
#[test]
fn a_grant_changes_the_requests_headers() {
    let headers = [
        header("x-user", "ann", false),
        header("x-more", "b", true),
        header("host", "evil.test", false),
        header("content-length", "9", false),
        header("bad name", "x", false),
    ];
    let headers = headers.iter().flat_map(|header| field(2, header)).collect::<Vec<u8>>();
    let granted = [headers, field(5, b"x-gone"), field(5, b"host")].concat();
    let (service, asked) = service([field(1, b""), field(3, &granted)].concat(), "0");
    let web = web();
    let running = guarded(&[], 5, &web, &service);
    let answer = ask(&running);
    assert_eq!(answer.status, 200);
    assert!(answer.body.ends_with("\r\n\r\nhello"));
    let head = answer.body;
    assert_eq!(fields(&head, "x-user"), ["ann"]);
    assert_eq!(fields(&head, "x-more"), ["a", "b"]);
    assert_eq!(fields(&head, "x-gone"), [""; 0]);
    assert_eq!(
        (fields(&head, "host"), fields(&head, "content-length")),
        (vec!["x.test".into()], vec!["5".into()])
    );
    let asked = asked.lock().unwrap();
    assert_eq!(at(&asked, &[1, 1, 1, 1, 2]), b"127.0.0.1");
    let http = at(&asked, &[1, 4, 2]);
    let expected: [(usize, &[u8]); 6] =
        [(2, b"POST"), (4, b"/a?b=c"), (5, b"x.test"), (6, b"http"), (10, b"HTTP/1.1"), (11, b"hello")];
    for (tag, value) in expected {
        assert_eq!(at(http, &[tag]), value, "{tag}");
    }
    let headers: Vec<_> = all(http, 3).into_iter().map(|entry| (at(entry, &[1]), at(entry, &[2]))).collect();
    assert!(headers.contains(&(b"cookie", b"k=v")) && headers.contains(&(b"x-user", b"root")));
}

/// `HeaderValueOption.append_action`: what becomes of a header that is there, and of one that is not.
#[test]
fn headers_go_where_their_action_says() {
    const IF_ABSENT: u8 = 1;
    const OVERWRITE: u8 = 2;
    const IF_PRESENT: u8 = 3;
    let headers = [
        placed("x-user", "ann", IF_ABSENT),
        placed("x-new", "1", IF_ABSENT),
        placed("x-more", "b", IF_PRESENT),
        placed("x-none", "1", IF_PRESENT),
        placed("x-gone", "2", OVERWRITE),
        placed("x-other", "1", OVERWRITE),
    ];
    let granted = headers.iter().flat_map(|header| field(2, header)).collect::<Vec<u8>>();
    let (service, _) = service([field(1, b""), field(3, &granted)].concat(), "0");
    let web = web();
    let head = ask(&guarded(&[], 0, &web, &service)).body;
    for (name, values) in [
        ("x-user", &["root"][..]),
        ("x-new", &["1"]),
        ("x-more", &["b"]),
        ("x-none", &[]),
        ("x-gone", &["2"]),
        ("x-other", &["1"]),
    ] {
        assert_eq!(fields(&head, name), values, "{name}");
    }
}

/// `OkHttpResponse`: parameters of the query are set and removed, and the client's answer gets headers, whoever gives it.
#[test]
fn a_grant_changes_the_query_and_the_answer() {
    let parameter = |key: &str, value: &str| [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let granted = [
        field(6, &header("set-cookie", "a=1", false)),
        field(6, &placed("set-cookie", "b=2", 0)),
        field(6, &header("x-why", "yes", true)),
        field(6, &placed("content-length", "0", 2)),
        field(6, &placed("transfer-encoding", "chunked", 2)),
        field(7, &parameter("b", "x&y")),
        field(7, &parameter("new", "1")),
        field(8, b"gone"),
    ]
    .concat();
    let (service, _) = service([field(1, b""), field(3, &granted)].concat(), "0");
    let web = web();
    let running = guarded(&[], 0, &web, &service);
    let mut client = running.client();
    for _ in 0..2 {
        client.send("GET /a?gone=1&b=c&b=d HTTP/1.1\r\nHost: x.test\r\n\r\n");
        let answer = client.answer();
        assert!(answer.body.starts_with("GET /a?b=x%26y&new=1 HTTP/1.1\r\n"), "{}", answer.body);
        let named = |name: &str| {
            let named = answer.headers.iter().filter(|(found, _)| found == name);
            named.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(named("set-cookie"), ["a=1", "b=2"]);
        assert_eq!((named("x-why"), named("transfer-encoding")), (vec!["yes".to_owned()], vec![]));
    }
}

/// `DeniedHttpResponse` is the client's answer; without one it is 403.
#[test]
fn a_refusal_is_the_clients_answer() {
    let denied = [field(1, &number(1, 61)), field(2, &header("www-authenticate", "Basic", false))].concat();
    for (denied, expected) in [
        (
            Some(
                [field(1, &[1 << 3, 0x91, 3]), field(2, &header("x-why", "no", false)), field(3, b"login")]
                    .concat(),
            ),
            (401, Some("no"), "login"),
        ),
        (Some(denied), (403, None, "")),
        (None, (403, None, "")),
    ] {
        let message =
            [field(1, &number(1, 7)), denied.map(|denied| field(2, &denied)).unwrap_or_default()].concat();
        let (service, asked) = service(message, "0");
        let web = web();
        let running = guarded(&["cookie"], 0, &web, &service);
        let answer = ask(&running);
        assert_eq!((answer.status, answer.header("x-why"), answer.body.as_str()), expected);
        assert!(web.no_more_heads());
        let asked = asked.lock().unwrap();
        let http = at(&asked, &[1, 4, 2]);
        let names: Vec<_> = all(http, 3).into_iter().map(|entry| at(entry, &[1])).collect();
        assert_eq!(
            (names, at(http, &[11])),
            (vec![&b"cookie"[..]], &b""[..]),
            "only what is listed, and no body"
        );
    }
}

/// A call that fails, and an answer that is none, let nothing pass.
#[test]
fn without_a_valid_answer_nothing_passes() {
    for (message, status) in [(field(1, b""), "14"), (vec![0xff, 0xff], "0")] {
        let (service, _) = service(message, status);
        let web = web();
        let running = guarded(&[], 0, &web, &service);
        assert_eq!(ask(&running).status, 503);
        assert!(web.no_more_heads());
    }
}
