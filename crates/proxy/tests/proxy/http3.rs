//! HTTP/3 from clients.

mod entrance;
mod migration;
mod protocol;

use h2::server::Builder;
use http::{HeaderMap, Response};

use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::http3::{Http3, request};
use crate::support::tls::{Authority, connect as connect_tls, http3};
use crate::support::{Backend, Gateway, Rules, Running, eventually, fields};

/// A listener for `a.test` that leads to a backend.
fn gateway(authority: &Authority, backend: &Backend) -> Gateway {
    Gateway::new()
        .listener("a.test", http3(authority.https(&["a.test"])), Rules::new().to("/", "web"))
        .backend("web", &[backend.address])
}

fn connect(running: &Running, authority: &Authority) -> Http3 {
    Http3::connect(running.quic(), "a.test", authority.client(&["h3"])).unwrap()
}

#[test]
fn a_request_is_served_as_over_the_other_versions() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let running = Running::start(&gateway(&authority, &backend));
    let client = connect(&running, &authority);
    let answer = client.get("a.test", "/p?q");
    assert_eq!((answer.status, answer.text()), (200, "web"));
    let head = backend.head();
    assert!(head.starts_with("GET /p?q HTTP/1.1\r\n"), "{head}");
    assert_eq!(fields(&head, "host"), ["a.test"]);
    assert_eq!(fields(&head, "x-forwarded-proto"), ["https"]);
    assert_eq!(fields(&head, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(fields(&head, "transfer-encoding"), Vec::<String>::new(), "no body, so none that is empty");
    let counted = |page: &String| {
        page.lines().any(|line| line.contains("version=\"3\"") && line.ends_with(" 1"))
            && page.contains("portcullis_tls_handshakes_total 1\n")
    };
    eventually(|| Some(running.metrics()).filter(counted));
    assert_eq!(client.get("a.test", "/").status, 200, "another request on the connection");
}

/// Larger than every window on the way, so that each side waits for the other more than once.
#[test]
fn bodies_pass_both_ways_whole() {
    let body = "0123456789abcdef".repeat(1 << 16);
    let length = body.len();
    let backend = Backend::scripted(move |connection| {
        let Some(head) = connection.request() else { return };
        assert_eq!(fields(&head, "content-length"), [length.to_string()]);
        let body = connection.exactly(length);
        connection.answer(&body);
    });
    let authority = Authority::new();
    let running = Running::start(&gateway(&authority, &backend));
    let mut post = request("POST", "a.test", "/");
    post.headers_mut().insert("content-length", length.into());
    let answer = connect(&running, &authority).exchange(post, body.as_bytes(), None).unwrap();
    assert_eq!((answer.status, answer.head["content-length"].to_str().unwrap()), (200, &*length.to_string()));
    assert!(answer.body == body.as_bytes());
}

#[test]
fn trailers_pass_both_ways() {
    let backend = Backend::scripted(|connection| {
        connection.request();
        assert_eq!(connection.until("0\r\nx-sum: 1\r\n\r\n"), "2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n");
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\nX-Sum: 2\r\n\r\n");
    });
    let authority = Authority::new();
    let running = Running::start(&gateway(&authority, &backend));
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", "1".parse().unwrap());
    let client = connect(&running, &authority);
    let answer = client.exchange(request("POST", "a.test", "/"), b"hi", Some(trailers)).unwrap();
    assert_eq!((answer.text(), answer.trailers.as_ref().unwrap()["x-sum"].to_str().unwrap()), ("ho", "2"));
}

#[test]
fn answers_without_a_body_end_with_their_head() {
    let backend = Backend::scripted(|connection| {
        while let Some(head) = connection.request() {
            let answer = match head.split(' ').next() {
                Some("HEAD") => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                _ if !fields(&head, "if-none-match").is_empty() => {
                    "HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n"
                }
                _ => "HTTP/1.1 204 No Content\r\n\r\n",
            };
            connection.write(answer);
        }
    });
    let authority = Authority::new();
    let running = Running::start(&gateway(&authority, &backend));
    let client = connect(&running, &authority);
    let head = client.exchange(request("HEAD", "a.test", "/"), b"", None).unwrap();
    assert_eq!((head.status, head.head["content-length"].to_str().unwrap(), head.text()), (200, "5", ""));
    let empty = client.get("a.test", "/");
    assert_eq!((empty.status, empty.text()), (204, ""));
    let mut conditional = request("GET", "a.test", "/");
    conditional.headers_mut().insert("if-none-match", "x".parse().unwrap());
    let unchanged = client.exchange(conditional, b"", None).unwrap();
    assert_eq!((unchanged.status, unchanged.text()), (304, ""));
    assert_eq!(unchanged.head["content-length"], "12");
    assert_eq!(client.get("a.test", "/").status, 204, "the connection lives");
}

/// One meaning for every version: Host as it came, the canonical path, the limit of heads, and shares that fail.
#[test]
fn a_request_means_what_it_means_over_the_other_versions() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let rules = Rules::new().to("/", "web").to("/empty", "empty");
    let gateway = Gateway::new()
        .listener("a.test", http3(authority.https(&["a.test"])), rules)
        .backend("web", &[backend.address])
        .backend("empty", &[]);
    let running = Running::start(&gateway);
    let client = connect(&running, &authority);
    for (asked, forwarded) in [
        ("/empty/../adm", "/adm"),
        ("/empty/%2e%2E/adm", "/adm"),
        ("/x/..%2fadm", "/x/..%2Fadm"),
        ("//adm?a=/../b", "//adm?a=/../b"),
    ] {
        assert_eq!(client.get("A.test:8443", asked).status, 200, "{asked}");
        let head = backend.head();
        assert!(head.starts_with(&format!("GET {forwarded} HTTP/1.1\r\n")), "{asked} is {head}");
        assert_eq!(fields(&head, "host"), ["A.test:8443"]);
    }
    assert_eq!(client.get("a.test", "/x/../empty").status, 503);
    assert_eq!(client.get("a.test", "/%zz").status, 400);
    // Whole, and in fields of which each costs more than its text.
    for (fields, kib, status) in [(1, 60, 200), (1, 65, 431), (1, 100, 431), (200, 60, 200), (200, 65, 431)] {
        let mut large = request("GET", "a.test", "/");
        for number in 0..fields {
            let name: http::HeaderName = format!("x-{number:03}").parse().unwrap();
            let text = "x".repeat((kib << 10) / fields - 9);
            large.headers_mut().insert(name, text.parse().unwrap());
        }
        let answer = client.exchange(large, b"", None).unwrap();
        assert_eq!(answer.status, status, "{kib} KiB in {fields}");
    }
    assert_eq!(client.get("a.test", "/").status, 200, "the connection lives");
}

#[test]
fn what_the_proxy_answers_itself_comes_too() {
    let (backend, authority) = (Backend::silent(), Authority::new());
    let gateway = Gateway::new()
        .listener(
            "a.test",
            http3(authority.https(&["a.test"])),
            Rules::new().to("/slow", "web").timeouts(Some(50), None),
        )
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let client = connect(&running, &authority);
    assert_eq!(client.get("a.test", "/none").status, 404);
    assert_eq!(client.get("a.test", "/slow").status, 504);
}

/// A gRPC call, with its trailers, to a backend that speaks HTTP/2.
#[test]
fn trailers_of_calls_pass() {
    let backend = Http2Backend::handling(&Builder::new(), |mut asked: Asked| async move {
        let body = asked.body().await;
        let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
        let mut answer = asked.respond.send_response(head, false).unwrap();
        answer.send_data(body.into(), false).unwrap();
        let status = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        answer.send_trailers(status).unwrap();
    });
    let authority = Authority::new();
    let gateway = Gateway::new()
        .listener("a.test", http3(authority.https(&["a.test"])), Rules::new().to("/", "web-h2c"))
        .backend("web-h2c", &[backend.address]);
    let running = Running::start(&gateway);
    let mut call = request("POST", "a.test", "/pkg.Service/Method");
    call.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    call.headers_mut().insert("te", "trailers".parse().unwrap());
    let answer = connect(&running, &authority).exchange(call, b"\0\0\0\0\x02hi", None).unwrap();
    assert_eq!((answer.status, &*answer.body), (200, &b"\0\0\0\0\x02hi"[..]));
    assert_eq!(answer.trailers.unwrap()["grpc-status"].to_str().unwrap(), "0");
}

/// RFC 7838 §3: answers over TCP say where HTTP/3 is, at the port that clients see.
#[test]
fn answers_over_the_other_versions_say_where_http3_is() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let listener = http3(authority.https(&["a.test"]));
    let gateway = Gateway::new()
        .listener("a.test", listener, Rules::new().to("/p", "web"))
        .listener("b.test", authority.https(&["b.test"]), Rules::new().to("/p", "web"))
        .backend("web", &[backend.address]);
    let running = Running::start(&gateway);
    let said = |name: &str, path: &str| {
        let mut client = connect_tls(running.address(), name, authority.client(&["http/1.1"])).unwrap();
        client.get(name, path).header("alt-svc").map(str::to_owned)
    };
    for path in ["/p", "/none"] {
        assert_eq!(said("a.test", path).as_deref(), Some("h3=\":80\"; ma=86400"), "{path}");
        assert_eq!(said("b.test", path), None, "a listener for TCP alone");
    }
    assert!(!connect(&running, &authority).get("a.test", "/p").head.contains_key("alt-svc"));
}
