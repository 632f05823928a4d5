//! Persistence, hop-by-hop fields, upgrades and expectations.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use portcullis_http1::{Known, RequestHead, RequestParser};

fn request(version: &str, fields: &str) -> RequestHead {
    let mut head = RequestHead::new();
    let input = format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
    RequestParser::default().parse(input.as_bytes(), &mut head).unwrap().unwrap();
    head
}

fn names(head: &RequestHead) -> Vec<String> {
    head.fields.iter().map(|(name, ..)| String::from_utf8_lossy(name).into_owned()).collect()
}

#[test]
fn rfc_9112_9_3_persistence() {
    for (version, fields, lives) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: foo\r\nConnection: x,CLOSE\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
        ("1.0", "Proxy-Connection: keep-alive\r\n", false),
    ] {
        assert_eq!(request(version, fields).keep_alive(), lives, "{version} {fields:?}");
    }
}

#[test]
fn rfc_9110_7_6_1_hop_by_hop_fields_go_and_others_stay() {
    let mut head = request(
        "1.1",
        "Connection: x-one, Close\r\nX-One: 1\r\nx-ONE: 2\r\nX-Two: 2\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\
         Proxy-Connection: close\r\nUpgrade: foo\r\nHTTP2-Settings: x\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n",
    );
    head.strip_hop_by_hop();
    assert_eq!(names(&head), ["Host", "X-Two", "Trailer"]);
    assert!(!head.fields.has(Known::Connection) && !head.fields.has(Known::Te));
    assert!(head.connection().trailers, "what TE said is kept for the writer");
}

/// RFC 9110 §10.1.4: TE lists codings, of which `trailers` alone says that trailers are taken.
#[test]
fn only_te_trailers_asks_for_trailers() {
    for (te, trailers) in [
        ("TE: trailers\r\n", true),
        ("TE: gzip, Trailers\r\n", true),
        ("TE: gzip\r\n", false),
        ("TE: trailers;q=1\r\n", false),
        ("TE:\r\n", false),
        ("", false),
    ] {
        assert_eq!(request("1.1", te).connection().trailers, trailers, "{te:?}");
    }
}

#[test]
fn connection_cannot_name_what_frames_or_routes() {
    let mut head = request(
        "1.1",
        "Connection: host, content-length, content-type, x-forwarded-for\r\nContent-Length: 0\r\n\
         Content-Type: a/b\r\nX-Forwarded-For: 192.0.2.1\r\n",
    );
    head.strip_hop_by_hop();
    assert_eq!(names(&head), ["Host", "Content-Length", "Content-Type"]);
    assert!(!head.fields.has(Known::XForwardedFor));
}

#[test]
fn rfc_9110_7_8_what_counts_as_an_upgrade() {
    for (version, fields, upgrade) in [
        ("1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n", Some("websocket")),
        ("1.1", "Connection: keep-alive, upgrade\r\nUpgrade: foo/2, bar\r\n", Some("foo/2, bar")),
        ("1.1", "Upgrade: websocket\r\n", None),
        ("1.1", "Connection: upgrade\r\n", None),
        ("1.1", "Connection: upgrade\r\nUpgrade:\r\n", None),
        ("1.1", "Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n", None),
        ("1.0", "Connection: upgrade\r\nUpgrade: websocket\r\n", None),
        ("1.1", "Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n", None),
        ("1.1", "Connection: upgrade\r\nUpgrade: websocket, H2C\r\n", None),
    ] {
        let mut head = request(version, fields);
        assert_eq!(head.upgrade(), upgrade.map(str::as_bytes), "{version} {fields:?}");
        head.strip_hop_by_hop();
        assert_eq!(head.upgrade(), upgrade.map(str::as_bytes), "kept when stripped");
    }
}

#[test]
fn rfc_9110_10_1_1_expectations() {
    for (version, fields, expects) in [
        ("1.1", "Expect: 100-continue\r\nContent-Length: 5\r\n", true),
        ("1.1", "Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n", true),
        ("1.1", "Expect: 100-continue\r\n", false),
        ("1.1", "Expect: something\r\nContent-Length: 5\r\n", false),
        ("1.1", "Content-Length: 5\r\n", false),
        ("1.0", "Expect: 100-continue\r\nContent-Length: 5\r\n", false),
    ] {
        assert_eq!(request(version, fields).expects_continue(), expects, "{version} {fields:?}");
    }
}

#[test]
fn fields_are_edited_in_place() {
    let mut head = request("1.1", "A: 1\r\nB: 2\r\na: 3\r\n");
    head.fields.set(b"a", b"9");
    assert_eq!(names(&head), ["Host", "a", "B"]);
    assert_eq!(head.fields.get_all(b"A").collect::<Vec<_>>(), [b"9"]);
    head.fields.set(b"C", b"4");
    head.fields.push(b"c", b"5");
    assert_eq!(head.fields.get_all(b"c").collect::<Vec<_>>(), [b"4", b"5"]);
    assert!(head.fields.remove(b"C") && !head.fields.remove(b"c"));
    head.fields.push_known(Known::XRequestId, b"id");
    assert_eq!(head.fields.get(b"X-Request-Id"), Some(&b"id"[..]));
    assert!(head.fields.remove(b"x-request-ID") && !head.fields.has(Known::XRequestId));
    assert_eq!(names(&head), ["Host", "a", "B"]);
}
