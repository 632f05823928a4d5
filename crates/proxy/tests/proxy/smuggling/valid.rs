//! What must be served: unusual, but framed in one way only.

use super::Exchange;
use super::recorder::Message;

/// All of them.
pub(crate) fn exchanges() -> Vec<Exchange> {
    [targets(), fields(), bodies(), chunked(), connections(), pipelines()].concat_all()
}

/// Flattens lists of exchanges.
trait ConcatAll {
    fn concat_all(self) -> Vec<Exchange>;
}

impl<const N: usize> ConcatAll for [Vec<Exchange>; N] {
    fn concat_all(self) -> Vec<Exchange> {
        self.into_iter().flatten().collect()
    }
}

/// A GET with these lines beside Host.
fn get_with(name: impl Into<String>, lines: &str) -> Exchange {
    let bytes = format!("GET /f HTTP/1.1\r\nHost: a\r\n{lines}Connection: close\r\n\r\n");
    Exchange::served(name, bytes, vec![Message::get("/f")])
}

fn targets() -> Vec<Exchange> {
    let as_they_are = [
        "/",
        "/a",
        "/a/b/c",
        "/a?",
        "/a?x=1",
        "/a?x=1&y=2",
        "/a?x=%20",
        "/a%2Fb",
        "/a;p=1",
        "/a:b",
        "/a@b",
        "/a,b",
        "/a//b",
        "/~user",
        "/a!$&'()*+,;=",
        "/?a=b?c=d",
        "/a?/../b",
        "/a%E2%82%AC",
        "/a?q=GET%20/x%20HTTP/1.1",
    ];
    let as_they_are = as_they_are.into_iter().map(|target| (target.to_owned(), target.to_owned()));
    // One canonical path serves matching, authorisation and forwarding.
    let canonical =
        [("/a/../b", "/b"), ("/a/./b", "/a/b"), ("/%61", "/a"), ("/a/%2e%2e/b", "/b"), ("/a%2fb", "/a%2Fb")];
    let canonical = canonical.into_iter().map(|(sent, seen)| (sent.to_owned(), seen.to_owned()));
    let long = format!("/{}", "a".repeat(4_000));
    let all = as_they_are.chain(canonical).chain([(long.clone(), long)]);
    all.map(|(sent, seen)| {
        let bytes = format!("GET {sent} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        Exchange::served(format!("target {sent}"), bytes, vec![Message::get(&seen)])
    })
    .collect()
}

fn fields() -> Vec<Exchange> {
    let mut all = vec![
        get_with("no space after the colon", "X:y\r\n"),
        get_with("spaces around a value", "X:   y   \r\n"),
        get_with("tabs around a value", "X:\ty\t\r\n"),
        get_with("a tab in a value", "X: y\tz\r\n"),
        get_with("an empty value", "X:\r\n"),
        get_with("an empty value with spaces", "X:   \r\n"),
        get_with("a name of one token of signs", "!#$%&'*+-.^_`|~: y\r\n"),
        get_with("a name with an underscore", "Content_Length: 5\r\n"),
        get_with("another name with an underscore", "Transfer_Encoding: chunked\r\n"),
        get_with("a name that begins with that of a framing", "Content-Length-X: 5\r\n"),
        get_with("a name that ends with that of a framing", "X-Transfer-Encoding: chunked\r\n"),
        get_with("a value that looks like a line", "X: GET /x HTTP/1.1\r\n"),
        get_with("a value with colons", "X: a: b: c\r\n"),
        get_with("a value of 8,000 bytes", &format!("X: {}\r\n", "y".repeat(8_000))),
        get_with("sixty fields", &(0..60).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>()),
        get_with("one field ten times", &"X: y\r\n".repeat(10)),
        get_with("TE: trailers", "TE: trailers\r\n"),
        get_with("Keep-Alive", "Keep-Alive: timeout=5\r\n"),
        get_with("a cookie", "Cookie: a=b; c=\"d\"\r\n"),
        get_with("a range", "Range: bytes=0-5\r\n"),
        get_with("a length of nothing", "Content-Length: 0\r\n"),
        // A token that nobody acts upon; the list is dropped as a whole.
        get_with("a Trailer that nobody sends", "Trailer: X\r\n"),
    ];
    let mut beyond = b"GET /f HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ".to_vec();
    beyond.extend_from_slice(b"\xe4\xff\x80\r\n\r\n");
    all.push(Exchange::served("bytes beyond ASCII in a value", beyond, vec![Message::get("/f")]));
    for host in [
        "a",
        "A",
        "a.test",
        "a.test.",
        "a:80",
        "a.test:65535",
        "127.0.0.1",
        "a,b",
        "[::1]",
        "[::1]:80",
        "xn--a",
    ] {
        let bytes = format!("GET /h HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        all.push(Exchange::served(format!("host {host}"), bytes, vec![Message::get("/h")]));
    }
    for (name, line) in [("first", "host: a\r\nX: y"), ("last", "X: y\r\nHOST: a")] {
        let bytes = format!("GET /h HTTP/1.1\r\n{line}\r\nConnection: close\r\n\r\n");
        all.push(Exchange::served(format!("Host comes {name}"), bytes, vec![Message::get("/h")]));
    }
    all
}

fn bodies() -> Vec<Exchange> {
    let mut all = Vec::new();
    for method in ["POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS", "REPORT"] {
        for body in ["", "x", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "0\r\n\r\n", "a\r\nb\r\n\r\nc"] {
            let bytes = format!(
                "{method} /b HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let message = Message::new(method, "/b", body);
            all.push(Exchange::served(format!("{method} with {body:?}"), bytes, vec![message]));
        }
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let bytes = format!("{method} /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        all.push(Exchange::served(
            format!("{method} without a body"),
            bytes,
            vec![Message::new(method, "/b", "")],
        ));
    }
    let bytes = "HEAD /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    all.push(Exchange {
        served: vec![Message::new("HEAD", "/b", "")],
        ..Exchange::served("HEAD", bytes, Vec::new())
    });
    all
}

/// A chunked POST whose body after the head is this, and means that.
fn post(name: impl Into<String>, body: &str, meaning: &str) -> Exchange {
    let bytes = format!(
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{body}"
    );
    Exchange::served(name, bytes, vec![Message::new("POST", "/c", meaning)])
}

fn chunked() -> Vec<Exchange> {
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut all = vec![
        post("no chunk", "0\r\n\r\n", ""),
        post("one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        post("two chunks", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"),
        post("a small hexadecimal digit", "a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        post("a capital hexadecimal digit", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        post("zeros before a size", "0005\r\nhello\r\n0\r\n\r\n", "hello"),
        post("several zeros for the last chunk", "5\r\nhello\r\n000\r\n\r\n", "hello"),
        post("an extension", "5;a=b\r\nhello\r\n0\r\n\r\n", "hello"),
        post("an extension without a value", "5;a\r\nhello\r\n0\r\n\r\n", "hello"),
        post("an extension in quotes", "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n", "hello"),
        post("several extensions", "5;a=b;c=d;e\r\nhello\r\n0\r\n\r\n", "hello"),
        post("an extension of the last chunk", "5\r\nhello\r\n0;a=b\r\n\r\n", "hello"),
        post("a trailer", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", "hello"),
        post("two trailers", "5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n", "hello"),
        post("chunks that look like chunks", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
        post("a request in a chunk", &format!("{:x}\r\n{smuggled}\r\n0\r\n\r\n", smuggled.len()), smuggled),
    ];
    let bytes: String = "0123456789".chars().map(|c| format!("1\r\n{c}\r\n")).collect();
    all.push(post("chunks of a byte", &format!("{bytes}0\r\n\r\n"), "0123456789"));
    for name in ["transfer-encoding", "TRANSFER-ENCODING", "Transfer-encoding"] {
        let bytes = format!(
            "POST /c HTTP/1.1\r\nHost: a\r\n{name}: chunked\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        );
        all.push(Exchange::served(name, bytes, vec![Message::new("POST", "/c", "hi")]));
    }
    all
}

/// What `Connection` and `Upgrade` say concerns this connection alone.
fn connections() -> Vec<Exchange> {
    let framed = |name: &str, lines: &str| {
        let bytes = format!("POST /u HTTP/1.1\r\nHost: a\r\n{lines}Content-Length: 2\r\n\r\nhi");
        Exchange::served(name, bytes, vec![Message::new("POST", "/u", "hi")])
    };
    vec![
        framed("Connection names another field", "Connection: close, x\r\nX: y\r\n"),
        framed("Connection names nothing that is there", "Connection: close, nothing\r\n"),
        framed("Connection twice", "Connection: close\r\nConnection: x\r\n"),
        framed("Proxy-Connection", "Connection: close\r\nProxy-Connection: keep-alive\r\n"),
        framed(
            "an upgrade to HTTP/2 is not handed on",
            "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        ),
        framed("an upgrade without a word in Connection", "Connection: close\r\nUpgrade: h2c\r\n"),
        framed("HTTP/1.0 keep-alive", "Connection: close\r\nKeep-Alive: 300\r\n"),
    ]
}

fn pipelines() -> Vec<Exchange> {
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
    let post =
        |body: &str| format!("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let chunked = |body: &str| {
        let len = body.len();
        format!(
            "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{len:x}\r\n{body}\r\n0\r\n\r\n"
        )
    };
    let gets = |number: usize| (0..number).map(|n| Message::get(&format!("/{n}"))).collect::<Vec<_>>();
    let mut all: Vec<Exchange> = [2, 3, 5, 10]
        .into_iter()
        .map(|number| {
            let bytes: String = (0..number).map(|n| get(&format!("/{n}"))).collect();
            Exchange::served(format!("{number} requests in a row"), bytes, gets(number))
        })
        .collect();
    let posted = |body: &str| Message::new("POST", "/p", body);
    for (name, bytes, messages) in [
        ("a body, then a request", post("hi") + &get("/0"), vec![posted("hi"), Message::get("/0")]),
        ("chunks, then a request", chunked("hi") + &get("/0"), vec![posted("hi"), Message::get("/0")]),
        ("chunks, then a body", chunked("hi") + &post("ho"), vec![posted("hi"), posted("ho")]),
        (
            "a body that looks like a request",
            post(&get("/x")) + &get("/0"),
            vec![posted(&get("/x")), Message::get("/0")],
        ),
        ("an empty line before a request", format!("\r\n{}", get("/0")), gets(1)),
        ("an empty line between requests", format!("{}\r\n{}", get("/0"), get("/1")), gets(2)),
    ] {
        all.push(Exchange::served(name, bytes, messages));
    }
    all
}
