//! Heads of HTTP/2 and 3 pass the same validation (RFC 9113 §8.2, §8.3; RFC 9114 §4.2, §4.3).

use portcullis_http1::{
    Framing, HeadError, HeadLimits, PseudoFields, RequestHead, Scheme, TargetForm, Version,
};

const GET: PseudoFields<'static> = PseudoFields {
    method: b"GET",
    scheme: Some(b"https"),
    authority: Some(b"a.example"),
    path: Some(b"/x?y"),
};

fn head(pseudo: PseudoFields<'_>, fields: &[(&str, &str)], ended: bool) -> Result<RequestHead, HeadError> {
    let mut head = RequestHead::new();
    head.start_multiplexed(Version::Http2, pseudo)?;
    for (name, value) in fields {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    head.finish_multiplexed(HeadLimits::default(), ended)?;
    Ok(head)
}

fn refused(pseudo: PseudoFields<'_>, fields: &[(&str, &str)], error: HeadError) {
    assert_eq!(head(pseudo, fields, true).map(|_| ()), Err(error), "{pseudo:?} {fields:?}");
}

#[test]
fn a_request() {
    let head = head(GET, &[("accept", "*/*"), ("te", "trailers")], true).unwrap();
    assert_eq!((head.version(), head.scheme()), (Version::Http2, Some(Scheme::Https)));
    assert_eq!((head.path(), head.query()), (&b"/x"[..], Some(&b"y"[..])));
    assert_eq!(head.host(), Some(&b"a.example"[..]));
    assert_eq!(head.fields.get(b"host"), Some(&b"a.example"[..]));
    assert_eq!(head.framing(), Framing::None);
    assert!(head.connection().trailers);
    assert!(head.keep_alive());
}

#[test]
fn rfc_9113_8_3_1_host_equals_authority() {
    refused(GET, &[("host", "b.example")], HeadError::AuthorityMismatch);
    refused(GET, &[("host", "a.example:443")], HeadError::AuthorityMismatch);
    refused(GET, &[("host", "a.example"), ("host", "a.example")], HeadError::RepeatedHost);
    assert!(head(GET, &[("host", "A.example")], true).is_ok());
    let no_authority = PseudoFields { authority: None, ..GET };
    assert_eq!(head(no_authority, &[("host", "b")], true).unwrap().authority(), Some(&b"b"[..]));
    refused(no_authority, &[], HeadError::MissingHost);
    refused(PseudoFields { authority: Some(b"u@a"), ..GET }, &[], HeadError::Userinfo);
    refused(PseudoFields { authority: Some(b"a b"), ..GET }, &[], HeadError::Host);
}

#[test]
fn rfc_9113_8_3_pseudo_fields() {
    refused(PseudoFields { scheme: None, ..GET }, &[], HeadError::PseudoField);
    refused(PseudoFields { path: None, ..GET }, &[], HeadError::PseudoField);
    refused(PseudoFields { scheme: Some(b"ftp"), ..GET }, &[], HeadError::Scheme);
    refused(PseudoFields { path: Some(b""), ..GET }, &[], HeadError::Target);
    refused(PseudoFields { path: Some(b"x"), ..GET }, &[], HeadError::Target);
    refused(PseudoFields { path: Some(b"*"), ..GET }, &[], HeadError::Target);
    refused(PseudoFields { path: Some(b"http://a.example/"), ..GET }, &[], HeadError::Target);
    refused(PseudoFields { path: Some(b"/ /"), ..GET }, &[], HeadError::TargetCharacter);
    refused(PseudoFields { path: Some(b"/\r\nX: 1"), ..GET }, &[], HeadError::TargetCharacter);
    refused(PseudoFields { method: b"G T", ..GET }, &[], HeadError::Method);
    refused(GET, &[(":path", "/")], HeadError::PseudoField);
    let options = PseudoFields { method: b"OPTIONS", path: Some(b"*"), ..GET };
    assert_eq!(head(options, &[], true).unwrap().form(), TargetForm::Asterisk);
    let connect = PseudoFields { method: b"CONNECT", scheme: None, authority: Some(b"a:1"), path: None };
    assert_eq!(head(connect, &[], false).unwrap().form(), TargetForm::Authority);
    refused(PseudoFields { scheme: Some(b"https"), ..connect }, &[], HeadError::PseudoField);
}

#[test]
fn rfc_9113_8_2_2_no_fields_of_a_connection() {
    for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"] {
        refused(GET, &[(name, "x")], HeadError::ConnectionField);
    }
    for te in ["gzip", "trailers, gzip", ""] {
        refused(GET, &[("te", te)], HeadError::ConnectionField);
    }
}

#[test]
fn rfc_9113_8_2_1_names_and_values() {
    refused(GET, &[("X-Upper", "1")], HeadError::FieldName);
    refused(GET, &[("a b", "1")], HeadError::FieldName);
    refused(GET, &[("", "1")], HeadError::FieldName);
    for value in [" 1", "1 ", "\t1", "1\t", " "] {
        refused(GET, &[("x", value)], HeadError::FieldValueSpace);
    }
    assert!(head(GET, &[("x", "1 2"), ("y", "")], true).is_ok());
    refused(GET, &[("a", "1\r\nb: 2")], HeadError::BareCr);
    refused(GET, &[("a", "1\n2")], HeadError::FieldValue);
    refused(GET, &[("a", "\0")], HeadError::Nul);
}

#[test]
fn rfc_9113_8_1_1_content_length_fits_the_body() {
    let framing = |fields: &[(&str, &str)], ended| head(GET, fields, ended).map(|head| head.framing());
    assert_eq!(framing(&[], false), Ok(Framing::Chunked));
    assert_eq!(framing(&[("content-length", "5")], false), Ok(Framing::Length(5)));
    assert_eq!(framing(&[("content-length", "0")], true), Ok(Framing::None));
    assert_eq!(framing(&[("content-length", "5")], true), Err(HeadError::ContentLength));
    assert_eq!(framing(&[("content-length", "5, 5")], false), Err(HeadError::ContentLength));
    let twice = [("content-length", "5"), ("content-length", "5")];
    assert_eq!(framing(&twice, false), Err(HeadError::RepeatedContentLength));
}

#[test]
fn rfc_9113_8_2_3_cookies_are_joined() {
    for (cookies, joined) in
        [(["a=1", "b=2"], "a=1; b=2"), (["a=1", ""], "a=1"), (["", "b=2"], "b=2"), (["", ""], "")]
    {
        let [first, second] = cookies.map(|cookie| ("cookie", cookie));
        let head = head(GET, &[first, ("x", "y"), second], true).unwrap();
        assert_eq!(head.fields.get_all(b"cookie").collect::<Vec<_>>(), [joined.as_bytes()]);
    }
}

#[test]
fn limits_are_the_same_as_for_http1() {
    let mut head = RequestHead::new();
    let mut check = |limits| {
        head.start_multiplexed(Version::Http2, GET).unwrap();
        head.fields.push(b"a", b"1");
        head.fields.push(b"b", b"2");
        head.finish_multiplexed(limits, true)
    };
    assert_eq!(check(HeadLimits { block: 1000, fields: 1 }), Err(HeadError::TooManyFields));
    assert_eq!(check(HeadLimits { block: 20, fields: 9 }), Err(HeadError::BlockTooLarge));
    assert_eq!(check(HeadLimits { block: 1000, fields: 2 }), Ok(()));
    // Pseudo-field values, and each field as the line that it is in HTTP/1: "GET", "a.example", "/x?y", "a: 1\r\n", …
    let block = "GETa.example/x?y".len() + 2 * "a: 1\r\n".len();
    assert_eq!(check(HeadLimits { block, fields: 2 }), Ok(()));
    assert_eq!(check(HeadLimits { block: block - 1, fields: 2 }), Err(HeadError::BlockTooLarge));
}

/// RFC 8441 §4: the tunnel is asked for as HTTP/1.1 would ask for it.
#[test]
fn extended_connect_is_an_upgrade() {
    let start = |pseudo: PseudoFields<'_>, length: bool, ended: bool| {
        let mut head = RequestHead::new();
        head.start_extended_connect(Version::Http2, pseudo, b"websocket")?;
        head.fields.push(b"sec-websocket-version", b"13");
        if length {
            head.fields.push(b"content-length", b"0");
        }
        head.finish_multiplexed(HeadLimits::default(), ended).map(|()| head)
    };
    let connect = PseudoFields { method: b"CONNECT", ..GET };
    let head = start(connect, false, false).unwrap();
    assert_eq!((head.method_name(), head.upgrade()), (&b"GET"[..], Some(&b"websocket"[..])));
    assert_eq!(head.framing(), Framing::None);
    let mut out = Vec::new();
    portcullis_http1::write_request(
        &mut out,
        &head,
        head.framing(),
        portcullis_http1::ConnectionField::Upgrade,
        b"",
    );
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.starts_with("GET ") && out.contains("Connection: upgrade\r\nUpgrade: websocket\r\n"),
        "{out}"
    );
    assert_eq!(start(connect, true, false).err(), Some(HeadError::ContentLength));
    assert_eq!(start(connect, false, true).err(), Some(HeadError::ContentLength));
    assert_eq!(
        start(PseudoFields { path: None, ..connect }, false, false).err(),
        Some(HeadError::PseudoField)
    );
}
