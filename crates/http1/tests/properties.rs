//! Properties: how input is cut changes nothing, and other readers agree.
//!
//! `PROPTEST_CASES` raises the number of cases.

#![allow(clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may fail the test")]

#[path = "support/agreement.rs"]
mod agreement;
#[path = "support/reference.rs"]
mod reference;

use portcullis_http1::{
    ConnectionField, Exchange, Fields, Framing, HeadError, RequestHead, RequestParser, ResponseHead,
    ResponseParser, write_chunk, write_last_chunk, write_request,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Text out of pieces that matter to the grammar, so that most inputs are nearly valid.
fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(select(of), 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

fn request_text() -> impl Strategy<Value = Vec<u8>> {
    let start = select(
        &[
            "GET / HTTP/1.1\r\n",
            "\r\nPOST /a?b HTTP/1.1\r\n",
            "GET http://b/ HTTP/1.0\r\n",
            "GET / HTTP/1.1\n",
            "",
        ][..],
    );
    let lines = pieces(&[
        "Host: a\r\n",
        "Host: b:80\r\n",
        "X: 1\r\n",
        "X-Long-Name:  value \t\r\n",
        "\t",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close, x\r\n",
        "Upgrade: websocket\r\n",
        "\r\n",
        "\r",
        "\n",
        " ",
        ":",
        "a",
        "\0",
        "\u{e4}",
    ]);
    (start, lines).prop_map(|(start, lines)| [start.as_bytes(), &lines].concat())
}

fn chunk_text() -> impl Strategy<Value = Vec<u8>> {
    pieces(&[
        "0\r\n",
        "1\r\na\r\n",
        "3\r\nabc\r\n",
        "\r\n",
        "\r",
        "\n",
        "5",
        "A",
        "0",
        ";",
        ";a=b",
        " ",
        "x: 1\r\n",
        "Vary: x\r\n",
        "\t",
        ":",
        "ffffffffffffffff",
        "\0",
        "abc",
        "\u{e4}",
    ])
}

/// Ascending offsets at which to cut.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::btree_set(0usize..200, 0..12).prop_map(|cuts| cuts.into_iter().collect())
}

type Summary = Result<Option<(usize, Vec<u8>)>, HeadError>;

/// How a head is seen from outside.
fn summary(used: usize, head: &RequestHead) -> (usize, Vec<u8>) {
    let mut text =
        format!("{:?} {:?} {:?} {:?} ", head.framing(), head.host(), head.upgrade(), head.keep_alive())
            .into_bytes();
    write_request(&mut text, head, head.framing(), ConnectionField::Absent, b"");
    (used, text)
}

/// Feeds ever longer beginnings of `input`.
fn parse_grown(input: &[u8], cuts: &[usize]) -> Summary {
    let (mut parser, mut head) = (RequestParser::default(), RequestHead::new());
    for end in cuts.iter().copied().filter(|cut| *cut < input.len()).chain([input.len()]) {
        if let Some(used) = parser.parse(&input[..end], &mut head)? {
            return Ok(Some(summary(used, &head)));
        }
    }
    Ok(None)
}

proptest! {
    /// Cutting a request head anywhere gives the same head, or the same error.
    #[test]
    fn heads_do_not_depend_on_cuts(input in request_text(), cuts in cuts()) {
        prop_assert_eq!(parse_grown(&input, &cuts), parse_grown(&input, &[]));
    }

    /// What is accepted here is accepted by httparse, which is laxer, with the same fields.
    #[test]
    fn httparse_reads_the_same(input in request_text()) {
        let mut head = RequestHead::new();
        let Ok(Some(used)) = RequestParser::default().parse(&input, &mut head) else { return Ok(()) };
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut other = httparse::Request::new(&mut fields);
        prop_assert_eq!(other.parse(&input), Ok(httparse::Status::Complete(used)));
        prop_assert_eq!(other.method.map(str::as_bytes), Some(head.method_name()));
        let absolute = head.authority().is_some() && head.scheme().is_some();
        let theirs: Vec<_> = other.headers.iter().map(|h| (h.name.as_bytes(), h.value)).collect();
        let ours: Vec<_> = head.fields.iter().map(|(name, value, _)| (name, value)).collect();
        prop_assert!(absolute || ours == theirs, "{:?} {:?}", ours, theirs);
    }

    /// A head that is written is read back the same, and writing it again gives the same bytes.
    #[test]
    fn written_heads_are_read_back(input in request_text()) {
        let mut head = RequestHead::new();
        let Ok(Some(_)) = RequestParser::default().parse(&input, &mut head) else { return Ok(()) };
        head.strip_hop_by_hop();
        let mut once = Vec::new();
        write_request(&mut once, &head, head.framing(), ConnectionField::Absent, b"");
        let mut again = RequestHead::new();
        prop_assert_eq!(RequestParser::default().parse(&once, &mut again), Ok(Some(once.len())));
        prop_assert_eq!(again.framing(), head.framing());
        prop_assert_eq!(again.authority(), head.authority());
        again.strip_hop_by_hop();
        let mut twice = Vec::new();
        write_request(&mut twice, &again, again.framing(), ConnectionField::Absent, b"");
        prop_assert_eq!(once.escape_ascii().to_string(), twice.escape_ascii().to_string());
    }

    /// No bytes make the parsers panic.
    #[test]
    fn any_bytes_are_survived(input in prop::collection::vec(any::<u8>(), 0..200), cuts in cuts()) {
        let _ = parse_grown(&input, &cuts);
        let mut head = ResponseHead::new();
        let _ = ResponseParser::default().parse(&input, Exchange::default(), &mut head);
    }

    /// The chunk decoder agrees with the reference, however the input is cut.
    #[test]
    fn chunks_agree_with_the_reference(input in chunk_text(), cuts in cuts()) {
        agreement::assert_agreement(&input, &cuts);
    }

    /// What is written as chunks is read back.
    #[test]
    fn written_chunks_are_read_back(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        cuts in cuts(),
    ) {
        let (mut text, mut trailers) = (Vec::new(), Fields::new());
        trailers.push(b"grpc-status", b"0");
        for chunk in &chunks {
            write_chunk(&mut text, chunk);
        }
        write_last_chunk(&mut text, &trailers);
        let expected = reference::Outcome::Whole {
            data: chunks.concat(),
            trailers: vec![(b"grpc-status".to_vec(), b"0".to_vec())],
            used: text.len(),
        };
        prop_assert_eq!(agreement::decode_cut(&text, &cuts).0, expected);
    }
}

#[test]
fn the_frames_of_the_properties_are_reached() {
    // The generators would be of no use if every head were wrong.
    let whole = parse_grown(b"POST /a?b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", &[3, 40]);
    assert!(whole.is_ok_and(|whole| whole.is_some_and(|(_, text)| text.starts_with(b"Chunked"))));
    assert_eq!(Framing::default(), Framing::None);
}
