//! Request heads: one case a clause of RFC 9110 and RFC 9112, and the corpus of request smuggling.
#![allow(clippy::expect_used, reason = "helpers of tests may fail the test")]

use portcullis_http1::{
    Framing, HeadError, HeadLimits, Method, RequestHead, RequestParser, Scheme, TargetForm, Version,
};

fn parse_with(limits: HeadLimits, input: &[u8]) -> Result<Option<(usize, RequestHead)>, HeadError> {
    let mut head = RequestHead::new();
    let used = RequestParser::new(limits).parse(input, &mut head)?;
    Ok(used.map(|used| (used, head)))
}

fn parse(input: &[u8]) -> Result<RequestHead, HeadError> {
    let (used, head) = parse_with(HeadLimits::default(), input)?.expect("the head is whole");
    assert_eq!(used, input.len());
    Ok(head)
}

/// `lines` after a request line and Host that are in order.
fn with_fields(lines: &str) -> Result<RequestHead, HeadError> {
    parse(format!("POST / HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n").as_bytes())
}

fn refused(input: impl AsRef<[u8]>, error: HeadError) {
    let input = input.as_ref();
    assert_eq!(parse(input).map(|_| ()), Err(error), "{}", input.escape_ascii());
}

fn refused_fields(lines: &str, error: HeadError) {
    assert_eq!(with_fields(lines).map(|_| ()), Err(error), "{lines:?}");
}

#[test]
fn a_request_in_origin_form() {
    let head =
        parse(b"GET /a/b?c=d&e HTTP/1.1\r\nHost: a.example:8080\r\nX-One:  1 \t\r\nx-one:2\r\n\r\n").unwrap();
    assert_eq!(head.version(), Version::Http11);
    assert_eq!((head.method(), head.method_name()), (Method::Get, &b"GET"[..]));
    assert_eq!((head.form(), head.scheme()), (TargetForm::Origin, None));
    assert_eq!((head.path(), head.query()), (&b"/a/b"[..], Some(&b"c=d&e"[..])));
    assert_eq!(head.authority(), Some(&b"a.example:8080"[..]));
    assert_eq!((head.host(), head.port()), (Some(&b"a.example"[..]), Some(8080)));
    assert_eq!(head.framing(), Framing::None);
    assert!(head.keep_alive());
    let fields: Vec<_> = head.fields.iter().map(|(name, value, _)| (name, value)).collect();
    assert_eq!(fields, [(&b"Host"[..], &b"a.example:8080"[..]), (b"X-One", b"1"), (b"x-one", b"2")]);
    assert_eq!(head.fields.get_all(b"X-ONE").collect::<Vec<_>>(), [b"1", b"2"]);
}

#[test]
fn rfc_9112_2_2_one_empty_line_may_come_first() {
    assert!(parse(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").is_ok());
    refused(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::LeadingEmptyLines);
}

#[test]
fn rfc_9112_2_2_lines_end_with_crlf_only() {
    refused(b"GET / HTTP/1.1\nHost: a\r\n\r\n", HeadError::BareLf);
    refused(b"GET / HTTP/1.1\r\nHost: a\n\r\n", HeadError::BareLf);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\n\n", HeadError::BareLf);
    refused(b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::BareLf);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", HeadError::BareCr);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n", HeadError::BareCr);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\r\r\n\r\n", HeadError::BareCr);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX\r: a\r\n\r\n", HeadError::BareCr);
    refused(b"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::BareCr);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", HeadError::BareCr);
}

#[test]
fn rfc_9112_3_the_request_line_has_single_spaces() {
    for line in ["GET", "GET /", "GET HTTP/1.1", "GET  HTTP/1.1"] {
        refused(format!("{line}\r\nHost: a\r\n\r\n"), HeadError::RequestLine);
    }
    for line in
        ["GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET /a b HTTP/1.1", "GET\t/ / HTTP/1.1", "GET /\t HTTP/1.1"]
    {
        assert!(parse(format!("{line}\r\nHost: a\r\n\r\n").as_bytes()).is_err(), "{line:?}");
    }
    refused(" GET / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Method);
    refused("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", HeadError::Version);
    refused("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Method);
    refused("GET / HTTP/1.1\0\r\nHost: a\r\n\r\n", HeadError::Nul);
}

#[test]
fn rfc_9110_9_1_methods_are_case_sensitive_tokens() {
    for (name, method) in [("get", Method::Other), ("PURGE", Method::Other), ("M-SEARCH", Method::Other)] {
        let head = parse(format!("{name} / HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        assert_eq!((head.method(), head.method_name()), (method, name.as_bytes()));
    }
}

#[test]
fn rfc_9112_2_3_versions() {
    assert_eq!(parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().version(), Version::Http10);
    for version in ["HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/3.0"] {
        refused(format!("GET / {version}\r\nHost: a\r\n\r\n"), HeadError::UnsupportedVersion);
    }
    for version in
        ["http/1.1", "HTTP/1", "HTTP/1.10", "HTTP/11", "HTTP/1,1", "HTTP/a.1", "XTTP/1.1", "HTTP/+1.1"]
    {
        refused(format!("GET / {version}\r\nHost: a\r\n\r\n"), HeadError::Version);
    }
}

#[test]
fn rfc_9112_3_2_1_characters_of_a_target() {
    for (byte, fine) in (0x21..=0x7e).map(|b| (b, b != b'#')).chain((0x7f..=0xff).map(|b| (b, false))) {
        let mut input = b"GET /".to_vec();
        input.push(byte);
        input.extend_from_slice(b" HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(parse(&input).is_ok(), fine, "{byte:#x}");
    }
    refused("GET /#fragment HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::TargetCharacter);
}

#[test]
fn rfc_9112_3_2_2_an_absolute_target_replaces_host() {
    for (target, authority, path, query) in [
        ("http://b.example/x?y", "b.example", "/x", Some("y")),
        ("HTTPS://b.example:8443", "b.example:8443", "/", None),
        ("http://[::1]:80?q", "[::1]:80", "/", Some("q")),
        ("http://b.example/http://c/?u=http://d", "b.example", "/http://c/", Some("u=http://d")),
    ] {
        let head =
            parse(format!("GET {target} HTTP/1.1\r\nhost: a.example\r\nX: 1\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(head.form(), TargetForm::Absolute);
        assert_eq!(head.authority(), Some(authority.as_bytes()), "{target}");
        assert_eq!(head.fields.get_all(b"host").collect::<Vec<_>>(), [authority.as_bytes()], "{target}");
        assert_eq!((head.path(), head.query()), (path.as_bytes(), query.map(str::as_bytes)), "{target}");
    }
    let head = parse(b"GET https://b/ HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!((head.scheme(), head.authority()), (Some(Scheme::Https), Some(&b"b"[..])));
    assert_eq!(head.fields.get(b"host"), Some(&b"b"[..]));
    refused("GET http://b/ HTTP/1.1\r\n\r\n", HeadError::MissingHost);
    refused("GET ftp://b/ HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Scheme);
    refused("GET http:/// HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Host);
    refused("GET http://u@b/ HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Userinfo);
    refused("GET http://u:p@b/ HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Userinfo);
    refused("GET http://b:x/ HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Host);
    refused("GET http:b/ HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Target);
    refused("GET a/b HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Target);
}

#[test]
fn rfc_9112_3_2_3_authority_form_is_for_connect() {
    let head = parse(b"CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n").unwrap();
    assert_eq!((head.form(), head.path()), (TargetForm::Authority, &b""[..]));
    assert_eq!((head.host(), head.port()), (Some(&b"b.example"[..]), Some(443)));
    refused("GET b.example:443 HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Target);
    refused("CONNECT b.example HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Target);
    refused("CONNECT :443 HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Target);
    refused("CONNECT /x HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Host);
    refused("CONNECT u@b:1 HTTP/1.1\r\nHost: b\r\n\r\n", HeadError::Userinfo);
}

#[test]
fn rfc_9112_3_2_4_asterisk_form_is_for_options() {
    let head = parse(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!((head.form(), head.path(), head.query()), (TargetForm::Asterisk, &b"*"[..], None));
    refused("GET * HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Target);
    refused("OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Target);
}

#[test]
fn rfc_9112_3_2_host_is_there_once_and_well_formed() {
    refused("GET / HTTP/1.1\r\n\r\n", HeadError::MissingHost);
    refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", HeadError::RepeatedHost);
    refused("GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n", HeadError::RepeatedHost);
    refused("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", HeadError::RepeatedHost);
    for host in ["a b", "a,b", "a/b", "http://a", "a:b", "a:99999", "[::1", "a?b", "a\\b", "a\u{e4}"] {
        let expected = if host == "a,b" { Ok(()) } else { Err(HeadError::Host) };
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(parse(input.as_bytes()).map(|_| ()), expected, "{host}"); // a comma is a sub-delim of reg-name
    }
    refused("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", HeadError::Userinfo);
    refused("GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", HeadError::Host);
}

#[test]
fn requests_that_name_no_host_have_no_authority() {
    let head = parse(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!((head.authority(), head.host(), head.port()), (None, None, None));
    let head = parse(b"GET / HTTP/1.1\r\nHost:\r\n\r\n").unwrap();
    assert_eq!((head.authority(), head.host(), head.port()), (None, None, None));
}

#[test]
fn rfc_9112_5_field_lines() {
    refused_fields("X-A : 1\r\n", HeadError::SpaceBeforeColon);
    refused_fields("Content-Length : 5\r\n", HeadError::SpaceBeforeColon);
    refused_fields("Transfer-Encoding\t: chunked\r\n", HeadError::SpaceBeforeColon);
    refused_fields("X-A: 1\r\n folded\r\n", HeadError::ObsFold);
    refused_fields("X-A: 1\r\n\tfolded: x\r\n", HeadError::ObsFold);
    refused_fields("X-A: 1\r\n \r\n", HeadError::ObsFold);
    refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", HeadError::ObsFold);
    refused_fields("no colon\r\n", HeadError::FieldLine);
    refused_fields("nocolon\r\n", HeadError::FieldLine);
    refused_fields(": no name\r\n", HeadError::FieldName);
    refused_fields("X\u{e4}: 1\r\n", HeadError::FieldName);
    refused_fields("X A: 1\r\n", HeadError::FieldName);
    refused_fields("X\u{b}: 1\r\n", HeadError::FieldName);
    refused_fields("X\0: 1\r\n", HeadError::Nul);
    refused_fields("X: a\0b\r\n", HeadError::Nul);
    refused_fields("X: a\u{b}b\r\n", HeadError::FieldValue);
    refused_fields("X: a\u{7f}b\r\n", HeadError::FieldValue);
    let head = with_fields("Empty:\r\nHigh: \u{e4}\u{20ac}\r\nTab: a\tb\r\n").unwrap();
    assert_eq!(head.fields.get(b"empty"), Some(&b""[..]));
    assert_eq!(head.fields.get(b"high"), Some("\u{e4}\u{20ac}".as_bytes()));
    assert_eq!(head.fields.get(b"tab"), Some(&b"a\tb"[..]));
}

#[test]
fn rfc_9112_6_3_framing_is_unambiguous() {
    assert_eq!(with_fields("Content-Length: 5\r\n").unwrap().framing(), Framing::Length(5));
    assert_eq!(with_fields("Content-Length: 0\r\n").unwrap().framing(), Framing::Length(0));
    assert_eq!(with_fields("Transfer-Encoding: Chunked\r\n").unwrap().framing(), Framing::Chunked);
    refused_fields("Content-Length: 5\r\nContent-Length: 5\r\n", HeadError::RepeatedContentLength);
    refused_fields("Content-Length: 5\r\ncontent-length: 6\r\n", HeadError::RepeatedContentLength);
    for value in
        ["5, 5", "5,6", "+5", "-5", "0x5", "5 5", "", "5.0", "1e1", "\"5\"", "18446744073709551616", "5;"]
    {
        refused_fields(&format!("Content-Length: {value}\r\n"), HeadError::ContentLength);
    }
    refused_fields("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", HeadError::ConflictingFraming);
    refused_fields("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", HeadError::ConflictingFraming);
    refused_fields("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", HeadError::ConflictingFraming);
    refused_fields("Transfer-Encoding: chunked\r\nContent-Length: x\r\n", HeadError::ConflictingFraming);
    for value in [
        "gzip, chunked",
        "chunked, gzip",
        "chunked, chunked",
        "identity",
        "xchunked",
        "chunkedx",
        "\"chunked\"",
        "",
        "chunked;a=b",
        ",chunked",
        "chunked,",
        "chunked identity",
        "\u{ff}chunked",
    ] {
        refused_fields(&format!("Transfer-Encoding: {value}\r\n"), HeadError::TransferEncoding);
    }
    refused_fields(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        HeadError::TransferEncoding,
    );
    refused_fields(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        HeadError::TransferEncoding,
    );
    refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HeadError::TransferEncodingInHttp10);
}

#[test]
fn fields_that_look_like_framing_but_are_not_do_not_frame() {
    let head =
        with_fields("Content_Length: 5\r\nX-Transfer-Encoding: chunked\r\nTransfer_Encoding: chunked\r\n")
            .unwrap();
    assert_eq!(head.framing(), Framing::None);
}

#[test]
fn rfc_6585_5_limits() {
    let limits = HeadLimits { block: 64, fields: 2 };
    let exact = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(64 - 32));
    assert_eq!(exact.len(), 64);
    assert!(parse_with(limits, exact.as_bytes()).unwrap().is_some());
    let over = exact.replace("X: x", "X: xx");
    assert_eq!(parse_with(limits, over.as_bytes()).map(|_| ()), Err(HeadError::BlockTooLarge));
    let unfinished = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(64));
    assert_eq!(parse_with(limits, unfinished.as_bytes()).map(|_| ()), Err(HeadError::BlockTooLarge));
    let target = format!("GET /{}", "x".repeat(64));
    assert_eq!(parse_with(limits, target.as_bytes()).map(|_| ()), Err(HeadError::TargetTooLong));
    let many = "GET / HTTP/1.1\r\nHost: a\r\nA:1\r\nB:1\r\n\r\n";
    assert_eq!(parse_with(limits, many.as_bytes()).map(|_| ()), Err(HeadError::TooManyFields));
}

#[test]
fn errors_have_their_status() {
    assert_eq!(HeadError::BlockTooLarge.status(), 431);
    assert_eq!(HeadError::TooManyFields.status(), 431);
    assert_eq!(HeadError::TargetTooLong.status(), 414);
    assert_eq!(HeadError::UnsupportedVersion.status(), 505);
    assert_eq!(HeadError::ConflictingFraming.status(), 400);
}

#[test]
fn pipelined_requests_are_read_one_by_one() {
    let input = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n";
    let mut parser = RequestParser::default();
    let mut head = RequestHead::new();
    let first = parser.parse(input, &mut head).unwrap().unwrap();
    assert_eq!((first, head.path()), (28, &b"/1"[..]));
    let second = parser.parse(&input[first..], &mut head).unwrap().unwrap();
    assert_eq!((first + second, head.path()), (input.len(), &b"/2"[..]));
    assert_eq!(head.host(), Some(&b"b"[..]));
}
