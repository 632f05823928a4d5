//! Bodies: chunks against the corpus of request smuggling, and the other framings.
#![allow(clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use portcullis_http1::{
    BodyDecoder, BodyError, ChunkDecoder, ChunkLimits, Framing, HeadError, HeadLimits, Piece,
};

/// The data, and how many bytes the body took if it ended.
fn decode_with(limits: ChunkLimits, input: &[u8]) -> Result<(Vec<u8>, Option<usize>), BodyError> {
    let mut decoder = ChunkDecoder::new(limits);
    let (mut data, mut used) = (Vec::new(), 0);
    loop {
        let (n, piece) = decoder.decode(&input[used..])?;
        used += n;
        match piece {
            Piece::Data(bytes) => data.extend_from_slice(bytes),
            Piece::More => return Ok((data, None)),
            Piece::End => return Ok((data, Some(used))),
        }
    }
}

fn decode(input: &str) -> Result<(Vec<u8>, Option<usize>), BodyError> {
    decode_with(ChunkLimits::default(), input.as_bytes())
}

fn refused(input: &str, error: BodyError) {
    assert_eq!(decode(input), Err(error), "{input:?}");
}

#[test]
fn rfc_9112_7_1_chunks() {
    assert_eq!(decode("3\r\nabc\r\n0\r\n\r\n"), Ok((b"abc".to_vec(), Some(13))));
    assert_eq!(decode("0\r\n\r\nGET /"), Ok((vec![], Some(5))), "the next message is left alone");
    assert_eq!(
        decode("000a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n").map(|(data, _)| data.len()),
        Ok(20)
    );
    assert_eq!(decode("3\r\nab"), Ok((b"ab".to_vec(), None)));
}

#[test]
fn rfc_9112_7_1_a_size_is_hexadecimal_digits() {
    for size in [
        "", "+5", "-5", " 5", "\t5", "5 ", "5\t", "0x5", "x", "5g", "5,5", "5.0", "\u{ff15}", "_5", "5_0",
        "\0", "5\0",
    ] {
        refused(&format!("{size}\r\nabcde\r\n0\r\n\r\n"), BodyError::ChunkSize);
    }
    refused("\r\n0\r\n\r\n", BodyError::ChunkSize);
    assert_eq!(decode("ffffffffffffffff\r\nab"), Ok((b"ab".to_vec(), None)));
    refused("10000000000000000\r\n", BodyError::ChunkSizeOverflow);
    refused("00000000000000005\r\nabcde\r\n", BodyError::ChunkSizeOverflow);
    refused("fffffffffffffffff\r\n", BodyError::ChunkSizeOverflow);
}

#[test]
fn rfc_9112_7_1_lines_and_data_end_with_crlf() {
    refused("5\nabcde\r\n0\r\n\r\n", BodyError::ChunkSize);
    refused("5\rabcde\r\n0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\rabcde\r\n0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\nabcde\n0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\nabcde0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\nabcdef\r\n0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\nabcde\r0\r\n\r\n", BodyError::ChunkEnd);
    refused("5\r\nabc\r\n0\r\n\r\n", BodyError::ChunkEnd);
    refused("0\n\r\n", BodyError::ChunkSize);
}

#[test]
fn rfc_9112_7_1_1_extensions_are_bounded_and_dropped() {
    for extension in [";a", ";a=b", " ; a = \"b;c\"", "\t;a", ";", ";;", ";a=\u{e4}"] {
        let input = format!("3{extension}\r\nabc\r\n0{extension}\r\n\r\n");
        assert_eq!(decode(&input), Ok((b"abc".to_vec(), Some(input.len()))), "{extension:?}");
    }
    refused("3 a\r\nabc\r\n", BodyError::ChunkSize);
    refused("3;a\nabc\r\n0\r\n\r\n", BodyError::ChunkExtension);
    refused("3;a\0\r\nabc\r\n", BodyError::ChunkExtension);
    refused("3;a\rb\r\nabc\r\n", BodyError::ChunkEnd);
    refused("3;\"\r\n\"\r\nabc\r\n", BodyError::ChunkEnd); // a quoted string holds no line end
    let limits = ChunkLimits { extensions: 4, total_extensions: 6, ..ChunkLimits::default() };
    assert!(decode_with(limits, b"1;abc\r\na\r\n0\r\n\r\n").is_ok());
    let too_long = decode_with(limits, b"1;abcd\r\na\r\n0\r\n\r\n");
    assert_eq!(too_long, Err(BodyError::ChunkExtensionsTooLarge));
    let just_in_total = b"1;abc\r\na\r\n1;\r\na\r\n1;\r\na\r\n0\r\n\r\n";
    assert_eq!(decode_with(limits, just_in_total), Ok((b"aaa".to_vec(), Some(just_in_total.len()))));
    let in_total = decode_with(limits, b"1;abc\r\na\r\n1;ab\r\na\r\n0\r\n\r\n");
    assert_eq!(in_total, Err(BodyError::ChunkExtensionsTooLarge));
}

#[test]
fn rfc_9112_7_1_2_trailers_are_checked_like_fields() {
    let mut decoder = ChunkDecoder::default();
    let input = b"0\r\nGrpc-Status: 0\r\nContent-Length: 5\r\nX: 1\r\nAuthorization: x\r\nRange: x\r\n\r\n";
    assert_eq!(decoder.decode(input), Ok((input.len(), Piece::End)));
    assert!(decoder.is_ended());
    let trailers: Vec<_> = decoder.trailers().iter().map(|(name, value, _)| (name, value)).collect();
    assert_eq!(trailers, [(&b"Grpc-Status"[..], &b"0"[..]), (b"X", b"1")]);
    decoder.reset();
    assert_eq!(decoder.decode(b"0\r\n\r\n"), Ok((5, Piece::End)));
    assert!(decoder.trailers().is_empty());
    for (line, error) in [
        ("X: 1\n", HeadError::BareLf),
        (" X: 1\r\n", HeadError::ObsFold),
        ("X : 1\r\n", HeadError::SpaceBeforeColon),
        ("X: \0\r\n", HeadError::Nul),
        ("X: a\rb\r\n", HeadError::BareCr),
        ("X: a\tb\r\r\n", HeadError::BareCr),
        ("GET / HTTP/1.1\r\n", HeadError::FieldLine),
    ] {
        refused(&format!("0\r\n{line}\r\n"), BodyError::Trailer(error));
    }
}

#[test]
fn trailers_are_bounded() {
    let limits = ChunkLimits { trailers: HeadLimits { block: 10, fields: 2 }, ..ChunkLimits::default() };
    let ten = decode_with(limits, b"0\r\nAB:123\r\n\r\n");
    assert_eq!(ten, Ok((vec![], Some(13))));
    let eleven = decode_with(limits, b"0\r\nABC:123\r\n\r\n");
    assert_eq!(eleven, Err(BodyError::Trailer(HeadError::BlockTooLarge)));
    assert_eq!(eleven.map_err(BodyError::status), Err(431));
    let unfinished = decode_with(limits, b"0\r\nABCDEFGHIJ");
    assert_eq!(unfinished, Err(BodyError::Trailer(HeadError::BlockTooLarge)));
    let limits = ChunkLimits { trailers: HeadLimits { block: 99, fields: 1 }, ..limits };
    let many = decode_with(limits, b"0\r\nA:1\r\nB:1\r\n\r\n");
    assert_eq!(many, Err(BodyError::Trailer(HeadError::TooManyFields)));
}

#[test]
fn rfc_9112_6_3_bodies_of_each_framing() {
    let mut body = BodyDecoder::new(ChunkLimits::default());
    assert!(body.is_ended());
    for framing in [Framing::None, Framing::Length(0), Framing::Tunnel] {
        body.start(framing);
        assert_eq!(body.decode(b"next"), Ok((0, Piece::End)), "{framing:?}");
        assert_eq!(body.close(), Ok(()));
    }
    body.start(Framing::Length(5));
    assert_eq!(body.decode(b""), Ok((0, Piece::More)));
    assert_eq!(body.decode(b"abc"), Ok((3, Piece::Data(b"abc"))));
    assert_eq!((body.remaining(), body.is_ended()), (Some(2), false));
    assert_eq!(body.close(), Err(BodyError::Incomplete));
    assert_eq!(body.decode(b"defg"), Ok((2, Piece::Data(b"de"))));
    assert_eq!(body.decode(b"fg"), Ok((0, Piece::End)));
    body.start(Framing::UntilClose);
    assert_eq!(body.decode(b"abc"), Ok((3, Piece::Data(b"abc"))));
    assert_eq!((body.remaining(), body.is_ended()), (None, false));
    assert_eq!(body.close(), Ok(()));
    assert_eq!(body.decode(b"x"), Ok((0, Piece::End)));
    body.start(Framing::Chunked);
    assert_eq!(body.decode(b"3\r\nab"), Ok((5, Piece::Data(b"ab"))));
    assert_eq!(body.close(), Err(BodyError::Incomplete));
    assert_eq!(body.remaining(), None);
    assert_eq!(body.decode(b"c\r\n0\r\nA: 1\r\n\r\n"), Ok((1, Piece::Data(b"c"))));
    assert_eq!(body.decode(b"\r\n0\r\nA: 1\r\n\r\n"), Ok((13, Piece::End)));
    assert_eq!((body.remaining(), body.trailers().get(b"a")), (Some(0), Some(&b"1"[..])));
}
