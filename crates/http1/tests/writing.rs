//! Heads as written: framed by what the writer is told, whatever the fields say.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use portcullis_http1::{
    ConnectionField, Exchange, Framing, Known, Method, RequestHead, RequestParser, ResponseHead,
    ResponseParser, TargetForm, Version, write_continue, write_request, write_response,
};

fn request(input: &str) -> RequestHead {
    let mut head = RequestHead::new();
    RequestParser::default().parse(input.as_bytes(), &mut head).unwrap().unwrap();
    head
}

fn response(method: Method, input: &str) -> ResponseHead {
    let mut head = ResponseHead::new();
    let exchange = Exchange { method, upgrade: Some(b"websocket") };
    ResponseParser::default().parse(input.as_bytes(), exchange, &mut head).unwrap().unwrap();
    head
}

fn forwarded(head: &RequestHead, connection: ConnectionField, more: &str) -> String {
    let mut out = Vec::new();
    write_request(&mut out, head, head.framing(), connection, more.as_bytes());
    String::from_utf8(out).unwrap()
}

fn answered(head: &ResponseHead, framing: Framing, connection: ConnectionField) -> String {
    let mut out = Vec::new();
    write_response(&mut out, head, framing, connection, b"");
    String::from_utf8(out).unwrap()
}

#[test]
fn a_request_keeps_its_order_and_case() {
    let mut head = request(
        "GET /a?b HTTP/1.1\r\nHost: a\r\nX-Case:1\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nAccept: */*  \r\n\
         Content-Length: 5\r\nTE: trailers\r\nZ: 1\r\n\r\n",
    );
    head.strip_hop_by_hop();
    head.fields.push(b"X-Added", b"yes");
    assert_eq!(
        forwarded(&head, ConnectionField::Absent, "x-more: 1\r\n"),
        "GET /a?b HTTP/1.1\r\nHost: a\r\nX-Case:1\r\nAccept: */*  \r\nZ: 1\r\nX-Added: yes\r\nContent-Length: 5\r\n\
         TE: trailers\r\nConnection: TE\r\nx-more: 1\r\n\r\n"
    );
}

#[test]
fn framing_and_connection_fields_come_from_the_writer_alone() {
    let mut head = request("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    head.fields.push(b"Transfer-Encoding", b"gzip");
    head.fields.push(b"content-length", b"7");
    head.fields.push(b"Connection", b"host");
    assert_eq!(
        forwarded(&head, ConnectionField::Close, ""),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn rewritten_requests() {
    let mut head = request("GET http://a/b?c HTTP/1.1\r\nhost: other\r\nX: 1\r\n\r\n");
    assert!(
        forwarded(&head, ConnectionField::Absent, "").starts_with("GET /b?c HTTP/1.1\r\nHost: a\r\nX: 1\r\n")
    );
    head.set_path(b"/new");
    head.set_query(Some(b"q"));
    head.set_method(b"PURGE");
    head.set_authority(b"b:81").unwrap();
    assert_eq!((head.host(), head.port(), head.method()), (Some(&b"b"[..]), Some(81), Method::Other));
    assert_eq!(
        forwarded(&head, ConnectionField::Absent, ""),
        "PURGE /new?q HTTP/1.1\r\nHost: b:81\r\nX: 1\r\n\r\n"
    );
    assert!(head.set_authority(b"b b").is_err());
    assert_eq!(head.authority(), Some(&b"b:81"[..]));
}

#[test]
fn a_path_makes_origin_form_of_asterisk_form_only() {
    for (target, form) in
        [("*", TargetForm::Origin), ("/", TargetForm::Origin), ("http://a/", TargetForm::Absolute)]
    {
        let mut head = request(&format!("OPTIONS {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        head.set_path(b"/new");
        assert_eq!((head.form(), head.path()), (form, &b"/new"[..]), "{target}");
    }
}

#[test]
fn rfc_9112_3_2_forms_as_forwarded() {
    let line = |input: &str| {
        let text = forwarded(&request(input), ConnectionField::Absent, "");
        text.split("\r\n").take(2).collect::<Vec<_>>().join("|")
    };
    assert_eq!(line("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS * HTTP/1.1|Host: a");
    assert_eq!(line("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS * HTTP/1.1|Host: a");
    assert_eq!(line("OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS / HTTP/1.1|Host: a");
    assert_eq!(line("OPTIONS http://a?q HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS /?q HTTP/1.1|Host: a");
    assert_eq!(line("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / HTTP/1.1|Host: a");
    assert_eq!(line("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"), "CONNECT a:1 HTTP/1.1|Host: a:1");
    assert_eq!(line("GET / HTTP/1.0\r\n\r\n"), "GET / HTTP/1.1|Host: ");
}

#[test]
fn an_upgrade_is_passed_on_when_asked() {
    let mut head = request("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    head.strip_hop_by_hop();
    let upgraded = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert_eq!(forwarded(&head, ConnectionField::Upgrade, ""), upgraded);
    assert_eq!(forwarded(&head, ConnectionField::Absent, ""), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let switch =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX: 1\r\n\r\n";
    let mut head = response(Method::Get, switch);
    head.strip_hop_by_hop();
    assert_eq!(
        answered(&head, head.framing(), ConnectionField::Upgrade),
        "HTTP/1.1 101 Switching Protocols\r\nX: 1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
}

#[test]
fn rfc_9112_6_responses_are_framed_for_their_client() {
    for (framing, version, expected) in [
        (Framing::Chunked, Version::Http11, Framing::Chunked),
        (Framing::Chunked, Version::Http10, Framing::UntilClose),
        (Framing::UntilClose, Version::Http11, Framing::Chunked),
        (Framing::UntilClose, Version::Http10, Framing::UntilClose),
        (Framing::Length(3), Version::Http10, Framing::Length(3)),
        (Framing::None, Version::Http11, Framing::None),
    ] {
        assert_eq!(framing.for_client(version), expected);
    }
    let head = response(Method::Get, "HTTP/1.0 200 Fine\r\nA: 1\r\n\r\n");
    assert_eq!(
        answered(&head, Framing::Chunked, ConnectionField::Absent),
        "HTTP/1.1 200 Fine\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
}

#[test]
fn rfc_9110_8_6_content_length_without_a_body() {
    for (method, status, kept) in [
        (Method::Head, 200, true),
        (Method::Get, 304, true),
        (Method::Get, 204, false),
        (Method::Get, 103, false),
    ] {
        let head = response(method, &format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"));
        let text = answered(&head, head.framing(), ConnectionField::Absent);
        let line = if kept { "Content-Length: 0\r\n" } else { "" };
        assert_eq!(text, format!("HTTP/1.1 {status} X\r\n{line}\r\n"), "{method:?} {status}");
    }
    let head = response(Method::Head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(answered(&head, head.framing(), ConnectionField::Absent), "HTTP/1.1 200 OK\r\n\r\n");
}

#[test]
fn rfc_9112_6_3_a_body_is_framed_once() {
    let head = response(Method::Get, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: 1\r\n\r\n");
    assert_eq!(
        answered(&head, Framing::Length(4), ConnectionField::Absent),
        "HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 4\r\n\r\n",
        "the length that the writer was told, not the one that was received"
    );
    assert_eq!(
        answered(&head, Framing::Chunked, ConnectionField::Absent),
        "HTTP/1.1 200 OK\r\nX: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
}

#[test]
fn responses_of_our_own() {
    let mut head = ResponseHead::new();
    head.start(Version::Http11, 503);
    head.fields.push_known(Known::ContentType, b"text/plain");
    assert_eq!(
        answered(&head, Framing::Length(1_234_567_890), ConnectionField::KeepAlive),
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nContent-Length: 1234567890\r\n\
         Connection: keep-alive\r\n\r\n"
    );
    head.set_status(299);
    assert!(answered(&head, Framing::Length(0), ConnectionField::Close).starts_with("HTTP/1.1 299 \r\n"));
    assert!(
        answered(&head, Framing::Length(u64::MAX), ConnectionField::Close)
            .contains(": 18446744073709551615\r\n")
    );
    let mut out = Vec::new();
    write_continue(&mut out);
    assert_eq!(out, b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn rfc_9112_9_3_persistence_is_said_where_it_is_not_the_default() {
    for (version, keep, expected) in [
        (Version::Http11, true, ConnectionField::Absent),
        (Version::Http11, false, ConnectionField::Close),
        (Version::Http10, true, ConnectionField::KeepAlive),
        (Version::Http10, false, ConnectionField::Close),
    ] {
        assert_eq!(ConnectionField::persistence(version, keep), expected);
    }
}
