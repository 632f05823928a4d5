//! Heads of HTTP/2 and 3: what their validation lets through is one message of HTTP/1.1 to us and to httparse, and the
//! same one, so that nothing can be smuggled to a backend of HTTP/1.1.
//!
//! The first byte of the input says which pseudo-fields there are and what follows the head; then come values, each
//! with its length before it: the pseudo-fields, and names and values in turn.

use portcullis_http1::{
    ConnectionField, Exchange, Framing, HeadError, HeadLimits, Method, PseudoFields, RequestHead,
    RequestParser, ResponseHead, ResponseParser, TargetForm, Version, write_request, write_response,
};

/// What the first byte asks for.
struct Flags(u8);

impl Flags {
    fn ended(&self) -> bool {
        self.0 & 1 != 0
    }

    fn is_tunnel(&self) -> bool {
        self.0 & 2 != 0
    }

    fn is_response(&self) -> bool {
        self.0 & 4 != 0
    }

    fn has(&self, pseudo: u8) -> bool {
        self.0 & (8 << pseudo) != 0
    }
}

/// Values with their length before each.
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first()?;
        let (value, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        self.0 = rest;
        Some(value)
    }
}

pub(crate) fn run(input: &[u8]) {
    let Some((flags, values)) = input.split_first() else { return };
    let (flags, mut values) = (Flags(*flags), Values(values));
    if flags.is_response() {
        response(&flags, values);
    } else if let Ok(head) = request(&flags, &mut values) {
        is_one_request(flags.ended(), head);
    }
}

fn request(flags: &Flags, values: &mut Values<'_>) -> Result<RequestHead, HeadError> {
    let mut value = || values.next().unwrap_or_default();
    let method = value();
    let (scheme, authority, path) = (value(), value(), value());
    let pseudo = PseudoFields {
        method,
        scheme: flags.has(0).then_some(scheme),
        authority: flags.has(1).then_some(authority),
        path: flags.has(2).then_some(path),
    };
    let mut head = RequestHead::new();
    if flags.is_tunnel() {
        head.start_extended_connect(Version::Http2, pseudo, b"websocket")?;
    } else {
        head.start_multiplexed(Version::Http2, pseudo)?;
    }
    while let Some(name) = values.next() {
        head.fields.push(name, values.next().unwrap_or_default());
    }
    head.finish_multiplexed(HeadLimits::default(), flags.ended())?;
    Ok(head)
}

/// Judges a request that was let through. `ended` says that no body followed the head.
pub(crate) fn is_one_request(ended: bool, mut head: RequestHead) {
    assert!(!ended || head.framing() == Framing::None, "a body after the end");
    head.strip_hop_by_hop();
    let connection =
        if head.upgrade().is_some() { ConnectionField::Upgrade } else { ConnectionField::Absent };
    let mut out = Vec::new();
    write_request(&mut out, &head, head.framing(), connection, b"");
    let mut again = RequestHead::new();
    let limits = HeadLimits { block: usize::MAX, fields: usize::MAX };
    let parsed = RequestParser::new(limits).parse(&out, &mut again);
    assert_eq!(parsed, Ok(Some(out.len())), "{}", out.escape_ascii());
    assert_eq!(again.method_name(), head.method_name());
    assert_eq!((again.authority(), again.form()), (head.authority(), head.form()));
    assert_eq!((again.path(), again.query()), (head.path(), head.query()));
    assert_eq!((again.framing(), again.upgrade()), (head.framing(), head.upgrade()));
    for (name, value, _) in head.fields.iter().filter(|(name, ..)| *name != b"content-length") {
        assert!(again.fields.get_all(name).any(|there| there == value), "{}", name.escape_ascii());
    }
    reads_the_same_to_httparse(&out, &head);
}

fn reads_the_same_to_httparse(out: &[u8], head: &RequestHead) {
    let mut fields = [httparse::EMPTY_HEADER; 300];
    let mut other = httparse::Request::new(&mut fields);
    assert_eq!(other.parse(out), Ok(httparse::Status::Complete(out.len())), "{}", out.escape_ascii());
    assert_eq!(other.method.map(str::as_bytes), Some(head.method_name()));
    let lengths = other.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("content-length"));
    assert!(lengths.count() <= 1);
    if head.form() == TargetForm::Origin {
        let target = other.path.unwrap_or_default().as_bytes();
        assert!(target.starts_with(head.path()), "{}", out.escape_ascii());
    }
}

/// An answer of a backend: its status is the first value, its first two bytes. The fields are as `h2` lets them
/// through.
fn response(flags: &Flags, mut values: Values<'_>) {
    let Some([high, low, ..]) = values.next() else { return };
    let status = 100 + u16::from_be_bytes([*high, *low]) % 900;
    if status == 101 {
        return; // there is no such answer in HTTP/2 (RFC 9113 §8.6)
    }
    let method = if flags.is_tunnel() { Method::Head } else { Method::Get };
    let mut head = ResponseHead::new();
    head.start(Version::Http2, status);
    while let Some(name) = values.next() {
        let value = values.next().unwrap_or_default();
        if is_h2_field(name, value) {
            head.fields.push(name, value);
        }
    }
    if head.finish_multiplexed(flags.ended(), method).is_ok() {
        is_one_response(head, method);
    }
}

/// RFC 9113 §8.2.1 and §8.2.2, as `h2` and `http` have them.
fn is_h2_field(name: &[u8], value: &[u8]) -> bool {
    const CONNECTION: [&[u8]; 5] =
        [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];
    let token =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(byte);
    let content = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    !name.is_empty() && name.iter().all(token) && value.iter().all(content) && !CONNECTION.contains(&name)
}

fn is_one_response(mut head: ResponseHead, method: Method) {
    head.strip_hop_by_hop();
    let mut out = Vec::new();
    write_response(&mut out, &head, head.framing(), ConnectionField::Absent, b"");
    let mut again = ResponseHead::new();
    let exchange = Exchange { method, ..Exchange::default() };
    let limits = HeadLimits { block: usize::MAX, fields: usize::MAX };
    let parsed = ResponseParser::new(limits).parse(&out, exchange, &mut again);
    assert_eq!(parsed, Ok(Some(out.len())), "{}", out.escape_ascii());
    assert_eq!((again.status(), again.framing()), (head.status(), head.framing()), "{}", out.escape_ascii());
}
