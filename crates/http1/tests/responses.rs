//! Response heads: strict towards upstreams too, since a response in doubt could reach the wrong client.
#![allow(clippy::expect_used, reason = "helpers of tests may fail the test")]

use portcullis_http1::{
    Exchange, Framing, HeadError, HeadLimits, Method, ResponseHead, ResponseParser, Version,
};

fn parse_for(exchange: Exchange<'_>, input: &[u8]) -> Result<ResponseHead, HeadError> {
    let mut head = ResponseHead::new();
    let used = ResponseParser::default().parse(input, exchange, &mut head)?;
    assert_eq!(used.expect("the head is whole"), input.len());
    Ok(head)
}

fn parse(input: &str) -> Result<ResponseHead, HeadError> {
    parse_for(Exchange::default(), input.as_bytes())
}

fn refused(input: &str, error: HeadError) {
    assert_eq!(parse(input).map(|_| ()), Err(error), "{input:?}");
}

fn framing(method: Method, status: u16, fields: &str) -> Result<Framing, HeadError> {
    let input = format!("HTTP/1.1 {status} X\r\n{fields}\r\n");
    parse_for(Exchange { method, upgrade: None }, input.as_bytes()).map(|head| head.framing())
}

#[test]
fn rfc_9112_4_status_lines() {
    let head = parse("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n").unwrap();
    assert_eq!((head.version(), head.status(), head.reason()), (Version::Http11, 200, &b"OK"[..]));
    for (line, status, reason) in [
        ("HTTP/1.1 404 Not  Found here", 404, "Not  Found here"),
        ("HTTP/1.1 204 ", 204, ""),
        ("HTTP/1.1 204", 204, ""),
        ("HTTP/1.1 999 \u{fc}", 999, "\u{fc}"),
    ] {
        let head = parse(&format!("{line}\r\n\r\n")).unwrap();
        assert_eq!((head.status(), head.reason()), (status, reason.as_bytes()));
    }
    for line in [
        "",
        "HTTP/1.1",
        "HTTP/1.1 ",
        "HTTP/1.1 20",
        "HTTP/1.1 2000",
        "HTTP/1.1 099 x",
        "HTTP/1.1 2x0 x",
        "HTTP/1.1  200 x",
        "HTTP/1.1\t200 x",
        "HTTP/1.1 200\tx",
        "HTTP/1.1 +20 x",
        "HTTP/1.1 200 a\u{7}b",
    ] {
        refused(&format!("{line}\r\n\r\n"), HeadError::StatusLine);
    }
    assert_eq!(parse("HTTP/1.0 200 OK\r\n\r\n").unwrap().version(), Version::Http10);
    refused("HTTP/2.0 200 OK\r\n\r\n", HeadError::UnsupportedVersion);
    refused("http/1.1 200 OK\r\n\r\n", HeadError::Version);
}

#[test]
fn rfc_9112_2_2_and_5_lines_of_responses() {
    refused("HTTP/1.1 200 OK\nX: 1\r\n\r\n", HeadError::BareLf);
    refused("HTTP/1.1 200 OK\r\nX: 1\n\r\n", HeadError::BareLf);
    refused("HTTP/1.1 200 O\rK\r\n\r\n", HeadError::BareCr);
    refused("HTTP/1.1 200 O\0K\r\n\r\n", HeadError::Nul);
    refused("HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n", HeadError::ObsFold);
    refused("HTTP/1.1 200 OK\r\nX : 1\r\n\r\n", HeadError::SpaceBeforeColon);
}

#[test]
fn rfc_9112_6_3_framing() {
    use Method::{Connect, Get, Head};
    assert_eq!(framing(Get, 200, "Content-Length: 3\r\n"), Ok(Framing::Length(3)));
    assert_eq!(framing(Get, 200, "Transfer-Encoding: chunked\r\n"), Ok(Framing::Chunked));
    assert_eq!(framing(Get, 200, ""), Ok(Framing::UntilClose));
    assert_eq!(framing(Head, 200, "Content-Length: 3\r\n"), Ok(Framing::None));
    assert_eq!(framing(Head, 200, "Transfer-Encoding: chunked\r\n"), Ok(Framing::None));
    assert_eq!(framing(Head, 200, ""), Ok(Framing::None));
    for status in [100, 103, 199, 204, 304] {
        assert_eq!(framing(Get, status, "Content-Length: 3\r\n"), Ok(Framing::None), "{status}");
    }
    assert_eq!(framing(Connect, 200, "Content-Length: 3\r\n"), Ok(Framing::Tunnel));
    assert_eq!(framing(Connect, 407, "Content-Length: 3\r\n"), Ok(Framing::Length(3)));
    assert_eq!(framing(Get, 205, "Content-Length: 0\r\n"), Ok(Framing::Length(0)));
}

#[test]
fn rfc_9112_11_1_ambiguous_responses_are_refused() {
    for (fields, error) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", HeadError::ConflictingFraming),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", HeadError::RepeatedContentLength),
        ("Content-Length: 3, 3\r\n", HeadError::ContentLength),
        ("Content-Length: -3\r\n", HeadError::ContentLength),
        ("Transfer-Encoding: gzip, chunked\r\n", HeadError::TransferEncoding),
        ("Transfer-Encoding: identity\r\n", HeadError::TransferEncoding),
    ] {
        for method in [Method::Get, Method::Head] {
            assert_eq!(framing(method, 200, fields), Err(error), "{fields:?}");
        }
    }
    refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HeadError::TransferEncodingInHttp10);
}

#[test]
fn rfc_9112_9_3_persistence() {
    for (head, lives) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo, Close\r\n", false),
        ("HTTP/1.1 200 OK\r\n", false),
        ("HTTP/1.1 204 No Content\r\n", true),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close\r\n", false),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n", true),
        // What may follow is a body that cannot be there: the next response could be forged in it.
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n", false),
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n", false),
    ] {
        assert_eq!(parse(&format!("{head}\r\n")).unwrap().keep_alive(), lives, "{head:?}");
    }
}

#[test]
fn rfc_9110_7_6_1_what_connection_said_is_kept_when_its_fields_go() {
    let mut head =
        parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX: 1\r\n\r\n")
            .unwrap();
    head.strip_hop_by_hop();
    let names: Vec<_> = head.fields.iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [&b"Content-Length"[..], b"X"]);
    let options = head.connection();
    assert_eq!((options.close, options.keep_alive, options.upgrade), (true, false, false));
}

#[test]
fn rfc_9110_7_8_only_an_offered_protocol_is_switched_to() {
    let switch = |offered, to: &str| {
        let exchange = Exchange { method: Method::Get, upgrade: offered };
        let input = format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{to}\r\n");
        parse_for(exchange, input.as_bytes()).map(|head| (head.framing(), head.upgrade().map(<[u8]>::to_vec)))
    };
    let ws = Some(&b"websocket"[..]);
    assert_eq!(switch(ws, "Upgrade: WebSocket\r\n"), Ok((Framing::Tunnel, Some(b"WebSocket".to_vec()))));
    assert!(switch(Some(b"foo/2, websocket"), "Upgrade: websocket\r\n").is_ok());
    assert_eq!(switch(None, "Upgrade: websocket\r\n"), Err(HeadError::UnexpectedSwitch));
    assert_eq!(switch(ws, "Upgrade: foo\r\n"), Err(HeadError::UnexpectedSwitch));
    assert_eq!(switch(ws, ""), Err(HeadError::UnexpectedSwitch));
    assert_eq!(switch(Some(b"h2c"), "Upgrade: h2c\r\n"), Err(HeadError::UnexpectedSwitch));
    let unnamed = b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n";
    let exchange = Exchange { method: Method::Get, upgrade: ws };
    assert_eq!(parse_for(exchange, unnamed).map(|_| ()), Err(HeadError::UnexpectedSwitch));
}

#[test]
fn rfc_9110_15_2_interim_responses_come_before_the_final_one() {
    let input = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (mut parser, mut head, mut at) = (ResponseParser::default(), ResponseHead::new(), 0);
    let mut seen = Vec::new();
    while at < input.len() {
        at += parser.parse(&input[at..], Exchange::default(), &mut head).unwrap().unwrap();
        seen.push((head.status(), head.is_interim(), head.fields.len()));
    }
    assert_eq!(seen, [(103, true, 1), (100, true, 0), (200, false, 1)]);
}

#[test]
fn limits_hold_for_responses() {
    let limits = HeadLimits { block: 40, fields: 1 };
    let mut head = ResponseHead::new();
    let mut parse =
        |input: &str| ResponseParser::new(limits).parse(input.as_bytes(), Exchange::default(), &mut head);
    assert_eq!(parse("HTTP/1.1 200 OK\r\nA:1\r\nB:1\r\n\r\n"), Err(HeadError::TooManyFields));
    assert_eq!(parse(&format!("HTTP/1.1 200 {}", "x".repeat(40))), Err(HeadError::BlockTooLarge));
    assert_eq!(parse("HTTP/1.1 200 OK\r\nA:1\r\n"), Ok(None));
}

#[test]
fn responses_made_here_or_read_by_other_libraries() {
    let mut head = ResponseHead::new();
    head.start(Version::Http2, 200);
    head.fields.push(b"content-length", b"5");
    assert_eq!(head.finish_multiplexed(false, Method::Get), Ok(()));
    assert_eq!(head.framing(), Framing::Length(5));
    assert_eq!(head.finish_multiplexed(true, Method::Get), Err(HeadError::ContentLength));
    assert_eq!(head.finish_multiplexed(true, Method::Head), Ok(()));
    assert_eq!(head.framing(), Framing::None);
}

/// What an answer without a body says of a length is told to HTTP/1 clients, who have to read one length in it.
#[test]
fn a_length_of_http2_is_one_also_where_no_body_comes() {
    for (status, method) in [(304, Method::Get), (200, Method::Head), (204, Method::Get)] {
        for (lengths, finished) in [
            (&["5"][..], Ok(())),
            (&["5 x"], Err(HeadError::ContentLength)),
            (&["+5"], Err(HeadError::ContentLength)),
            (&["5", "6"], Err(HeadError::RepeatedContentLength)),
        ] {
            let mut head = ResponseHead::new();
            head.start(Version::Http2, status);
            lengths.iter().for_each(|length| head.fields.push(b"content-length", length.as_bytes()));
            assert_eq!(head.finish_multiplexed(true, method), finished, "{status} {lengths:?}");
        }
    }
}
