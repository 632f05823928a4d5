//! HTTP/2 from clients: what its framing lets through and HTTP/1.1 would take for framing. The same validation serves
//! all versions, so that no field of a stream becomes a line of its own.

use super::Stage;
use super::recorder::Message;
use crate::support::http2::{Raw, frame};

/// Fields of a request after its pseudo-header fields, its body, and the message that may reach the backend.
pub(crate) struct Case {
    pub(super) name: &'static str,
    pub(super) fields: Vec<(&'static str, &'static str)>,
    pub(super) body: &'static str,
    pub(super) served: Option<Message>,
}

/// The pseudo-header fields of a request.
const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/h"), (":authority", "a")];

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    [valid(), framing(), fields(), pseudo_fields()].into_iter().flatten().collect()
}

/// A POST with more fields and a body.
fn with(name: &'static str, more: &[(&'static str, &'static str)], body: &'static str) -> Case {
    Case { name, fields: POST.iter().chain(more).copied().collect(), body, served: None }
}

/// A POST with another field in the place of one of its own.
fn instead(name: &'static str, place: usize, field: (&'static str, &'static str)) -> Case {
    let mut fields = POST.to_vec();
    fields[place] = field;
    Case { name, fields, body: "", served: None }
}

fn serves(case: Case) -> Case {
    let served = Some(Message::new("POST", "/h", case.body));
    Case { served, ..case }
}

/// What is served.
fn valid() -> Vec<Case> {
    vec![
        serves(with("no length", &[], "hi")),
        serves(with("a length that fits", &[("content-length", "2")], "hi")),
        serves(with("a body that looks like a request", &[], "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")),
        serves(with("te: trailers", &[("te", "trailers")], "hi")),
        serves(with("an empty body with its length", &[("content-length", "0")], "")),
        serves(instead("a path with a fragment, which goes no further", 2, (":path", "/h#x"))),
    ]
}

/// What HTTP/1.1 would take for framing (RFC 9113 §8.2.2).
fn framing() -> Vec<Case> {
    vec![
        with(
            "a length below the body (H2.CL)",
            &[("content-length", "0")],
            "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        with("a length above the body", &[("content-length", "100")], "hi"),
        with("two lengths", &[("content-length", "2"), ("content-length", "2")], "hi"),
        with("a length that is none", &[("content-length", "2x")], "hi"),
        with("a length with a sign", &[("content-length", "+2")], "hi"),
        with(
            "a coding (H2.TE)",
            &[("transfer-encoding", "chunked")],
            "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        with("a coding that is none", &[("transfer-encoding", "x")], "hi"),
        with("connection", &[("connection", "close")], "hi"),
        with("keep-alive", &[("keep-alive", "5")], "hi"),
        with("proxy-connection", &[("proxy-connection", "close")], "hi"),
        with("upgrade", &[("upgrade", "h2c")], "hi"),
        with("te: gzip", &[("te", "gzip")], "hi"),
        with("a value that ends its line", &[("x", "y\r\nTransfer-Encoding: chunked")], "hi"),
        with("a value with LF", &[("x", "y\nTransfer-Encoding: chunked")], "hi"),
    ]
}

/// Fields that would be lines of their own, and pseudo-header fields where they do not belong.
fn fields() -> Vec<Case> {
    vec![
        with("a value with CR", &[("x", "y\rz")], "hi"),
        with("a value with NUL", &[("x", "y\0z")], "hi"),
        with("a value that ends the head", &[("x", "y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a")], "hi"),
        with("a value that begins with a space", &[("x", " y")], "hi"),
        with("a name in capitals", &[("Content-Length", "2")], "hi"),
        with("a name with a colon", &[("x: y\r\ntransfer-encoding", "chunked")], "hi"),
        with("a name with a space", &[("transfer encoding", "chunked")], "hi"),
        with("a name with LF", &[("x\ntransfer-encoding", "chunked")], "hi"),
        with("an empty name", &[("", "y")], "hi"),
        with("a host that differs", &[("host", "b")], "hi"),
        with("two hosts", &[("host", "a"), ("host", "b")], "hi"),
        with("an unknown pseudo-header field", &[(":x", "y")], "hi"),
        with("a pseudo-header field after fields", &[("x", "y"), (":path", "/x")], "hi"),
        with("a path twice", &[(":path", "/x")], "hi"),
    ]
}

/// Pseudo-header fields that would end the request line or Host.
fn pseudo_fields() -> Vec<Case> {
    vec![
        instead("a method with a space", 0, (":method", "GET /smuggled HTTP/1.1\r\nX:")),
        instead("a method that ends its line", 0, (":method", "GET\r\nX: y")),
        instead("an empty method", 0, (":method", "")),
        instead("a path with a space", 2, (":path", "/h HTTP/1.1\r\nX: y")),
        instead("a path with a space alone", 2, (":path", "/h x")),
        instead("a path with LF", 2, (":path", "/h\nX: y")),
        instead("an empty path", 2, (":path", "")),
        instead("a path without slash", 2, (":path", "h")),
        instead("an authority that ends its line", 3, (":authority", "a\r\nX: y")),
        instead("an authority with a user", 3, (":authority", "b@a")),
        instead("an authority with a path", 3, (":authority", "a/b")),
        instead("an authority with a space", 3, (":authority", "a b")),
    ]
}

/// A header block of literals that are neither indexed nor compressed (RFC 7541 §6.2.2).
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127, "the length takes a byte");
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

#[test]
fn no_field_of_a_stream_becomes_framing() {
    let stage = Stage::start();
    for Case { name, fields, body, served } in cases() {
        let mut client = Raw::connect(stage.running.address(), b"");
        let end_headers = 0x4;
        let end_stream = 0x1;
        client.send(&frame(
            1,
            end_headers | if body.is_empty() { end_stream } else { 0 },
            1,
            &block(&fields),
        ));
        if !body.is_empty() {
            client.send(&frame(0, end_stream, 1, body.as_bytes()));
        }
        match &served {
            // The answer's data comes with its end.
            Some(message) => assert!(client.until(message.echoed().as_bytes()), "{name}"),
            None => client.ping(),
        }
        drop(client);
        assert_eq!(stage.recorder.taken(), served.into_iter().collect::<Vec<_>>(), "{name}");
        stage.bystander(name);
    }
}

/// A stream that ends in an empty frame, as most clients' streams do, is one body to a backend of HTTP/1.1, ended once:
/// what comes next on the pooled connection is in step.
#[test]
fn an_empty_last_frame_ends_a_body_once() {
    const END_STREAM: u8 = 0x1;
    const END_HEADERS: u8 = 0x4;
    const PADDED: u8 = 0x8;
    let stage = Stage::start();
    let mut client = Raw::connect(stage.running.address(), b"");
    let empty = |stream, flags| frame(0, flags, stream, b"");
    let padding = |stream, flags| frame(0, flags | PADDED, stream, b"\x03\0\0\0");
    let trailers = |stream| frame(1, END_HEADERS | END_STREAM, stream, &block(&[("x-end", "1")]));
    type End<'a> = &'a dyn Fn(u32) -> Vec<Vec<u8>>;
    let ends: [(&str, End<'_>); 5] = [
        ("an empty frame", &|stream| vec![empty(stream, END_STREAM)]),
        ("many empty frames", &|stream| vec![empty(stream, 0), empty(stream, 0), empty(stream, END_STREAM)]),
        ("a frame of padding", &|stream| vec![padding(stream, END_STREAM)]),
        ("trailers", &|stream| vec![trailers(stream)]),
        ("an empty frame and trailers", &|stream| vec![empty(stream, 0), trailers(stream)]),
    ];
    let mut stream = 1;
    for (name, end) in ends {
        for length in [None, Some(("content-length", "2"))] {
            let fields: Vec<_> = POST.into_iter().chain(length).collect();
            client.send(&frame(1, END_HEADERS, stream, &block(&fields)));
            client.send(&frame(0, 0, stream, b"hi"));
            let mark = client.mark(); // a body of its length is answered before its stream ends
            client.ping(); // what has come is on its way before the end comes
            end(stream).iter().for_each(|frame| client.send(frame));
            assert!(client.until_after(mark, b"POST /h hi"), "{name}");
            assert_eq!(stage.recorder.taken(), [Message::new("POST", "/h", "hi")], "{name}, {length:?}");
            stage.bystander(name);
            stream += 2;
        }
    }
}
