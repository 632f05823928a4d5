//! Heads: how input is cut changes nothing, httparse reads the same, and what is written is read back as it was.
//!
//! The first byte of the input says where to cut.

use portcullis_http1::{
    ConnectionField, Exchange, HeadError, RequestHead, RequestParser, ResponseHead, ResponseParser,
    write_request, write_response,
};

type Parsed = Result<Option<usize>, HeadError>;

pub(crate) fn run(input: &[u8]) {
    let Some((cut, input)) = input.split_first() else { return };
    let cut = usize::from(*cut).min(input.len());
    requests(cut, input);
    responses(cut, input);
}

fn request(input: &[u8]) -> (Parsed, RequestHead) {
    let mut head = RequestHead::new();
    (RequestParser::default().parse(input, &mut head), head)
}

fn forwarded(head: &RequestHead) -> Vec<u8> {
    let mut out = Vec::new();
    write_request(&mut out, head, head.framing(), ConnectionField::Absent, b"");
    out
}

fn requests(cut: usize, input: &[u8]) {
    let (whole, mut head) = request(input);
    let (mut parser, mut grown) = (RequestParser::default(), RequestHead::new());
    let parsed = match parser.parse(&input[..cut], &mut grown) {
        Ok(None) => parser.parse(input, &mut grown),
        done => done,
    };
    assert_eq!(parsed, whole);
    let Ok(Some(used)) = whole else { return };
    assert_eq!(forwarded(&grown), forwarded(&head));
    agrees_with_httparse(input, used, &head);

    head.strip_hop_by_hop();
    let once = forwarded(&head);
    let (parsed, again) = request(&once);
    assert_eq!(parsed, Ok(Some(once.len())));
    assert_eq!((again.framing(), again.authority()), (head.framing(), head.authority()));
    assert_eq!((again.path(), again.query()), (head.path(), head.query()));
}

fn agrees_with_httparse(input: &[u8], used: usize, head: &RequestHead) {
    let mut fields = [httparse::EMPTY_HEADER; 300];
    let mut other = httparse::Request::new(&mut fields);
    assert_eq!(other.parse(input), Ok(httparse::Status::Complete(used)));
    assert_eq!(other.method.map(str::as_bytes), Some(head.method_name()));
    // The authority of a target takes the place of Host.
    if head.scheme().is_none() && head.method_name() != b"CONNECT" {
        let theirs = other.headers.iter().map(|field| (field.name.as_bytes(), field.value));
        assert!(theirs.eq(head.fields.iter().map(|(name, value, _)| (name, value))));
    }
}

fn responses(cut: usize, input: &[u8]) {
    let exchange = Exchange { upgrade: Some(b"websocket"), ..Exchange::default() };
    let mut head = ResponseHead::new();
    let whole = ResponseParser::default().parse(input, exchange, &mut head);
    let (mut parser, mut grown) = (ResponseParser::default(), ResponseHead::new());
    let parsed = match parser.parse(&input[..cut], exchange, &mut grown) {
        Ok(None) => parser.parse(input, exchange, &mut grown),
        done => done,
    };
    assert_eq!(parsed, whole);
    if !matches!(whole, Ok(Some(_))) {
        return;
    }
    head.strip_hop_by_hop();
    let mut out = Vec::new();
    write_response(&mut out, &head, head.framing(), ConnectionField::Upgrade, b"");
    let mut again = ResponseHead::new();
    assert_eq!(ResponseParser::default().parse(&out, exchange, &mut again), Ok(Some(out.len())));
    assert_eq!((again.status(), again.framing()), (head.status(), head.framing()));
}
