//! Small tables: methods, reason phrases, and the names that errors have in metrics.

use std::collections::BTreeSet;

use portcullis_http1::{
    BodyError, Fields, HeadError, HeadLimits, Known, KnownSet, Method, RequestHead, RequestParser,
    reason_phrase,
};

#[test]
fn rfc_9110_9_methods() {
    use Method::{Connect, Delete, Get, Head, Options, Other, Patch, Post, Put, Trace};
    for (name, method, idempotent) in [
        ("GET", Get, true),
        ("HEAD", Head, true),
        ("POST", Post, false),
        ("PUT", Put, true),
        ("DELETE", Delete, true),
        ("CONNECT", Connect, false),
        ("OPTIONS", Options, true),
        ("TRACE", Trace, true),
        ("PATCH", Patch, false),
        ("Get", Other, false),
    ] {
        assert_eq!(Method::from_bytes(name.as_bytes()), method);
        assert_eq!(method.is_idempotent(), idempotent, "{name}: RFC 9110 §9.2.2");
    }
}

#[test]
fn rfc_9110_15_reason_phrases() {
    let with_phrase: Vec<u16> = (0..=999).filter(|status| !reason_phrase(*status).is_empty()).collect();
    let expected = [
        100..=103,
        200..=208,
        226..=226,
        300..=305,
        307..=308,
        400..=417,
        421..=426,
        428..=429,
        431..=431,
        451..=451,
        500..=508,
        511..=511,
    ];
    assert_eq!(with_phrase, expected.into_iter().flatten().collect::<Vec<u16>>());
    for (status, phrase) in [
        (200, "OK"),
        (404, "Not Found"),
        (413, "Content Too Large"),
        (431, "Request Header Fields Too Large"),
    ] {
        assert_eq!(reason_phrase(status), phrase);
    }
}

#[test]
fn errors_have_stable_names() {
    let heads = [
        (HeadError::BareLf, "bare_lf"),
        (HeadError::ConflictingFraming, "conflicting_framing"),
        (HeadError::BlockTooLarge, "block_too_large"),
        (HeadError::AuthorityMismatch, "authority_mismatch"),
    ];
    for (error, name) in heads {
        assert_eq!(error.reason(), name);
    }
    let bodies = [
        (BodyError::ChunkSize, "chunk_size", 400),
        (BodyError::ChunkSizeOverflow, "chunk_size_overflow", 400),
        (BodyError::ChunkExtension, "chunk_extension", 400),
        (BodyError::ChunkExtensionsTooLarge, "chunk_extensions_too_large", 400),
        (BodyError::ChunkEnd, "chunk_end", 400),
        (BodyError::Trailer(HeadError::TooManyFields), "trailer", 431),
        (BodyError::Incomplete, "body_incomplete", 400),
    ];
    for (error, name, status) in bodies {
        assert_eq!((error.reason(), error.status()), (name, status));
    }
    let names: BTreeSet<_> =
        heads.iter().map(|(_, name)| *name).chain(bodies.iter().map(|(_, name, _)| *name)).collect();
    assert_eq!(names.len(), heads.len() + bodies.len(), "no two errors share a name");
}

#[test]
fn default_limits() {
    assert_eq!(HeadLimits::default(), HeadLimits { block: 65_536, fields: 256 });
}

#[test]
fn sets_of_known_names() {
    let set = KnownSet::of(&[Known::Host, Known::Te]);
    assert!(set.contains(Known::Host) && set.contains(Known::Te) && !set.contains(Known::Via));
    assert!(set.intersects(Known::Te.set()) && !set.intersects(Known::Via.set()));
    assert_eq!(
        set.union(Known::Via.set()).without(Known::Host.set()),
        KnownSet::of(&[Known::Te, Known::Via])
    );
    assert_eq!(set.union(Known::Te.set()), set, "what both have is in the union");
    assert_eq!(
        KnownSet::of(&[Known::Te, Known::Te]),
        Known::Te.set(),
        "naming a member twice changes nothing"
    );
    assert_eq!(KnownSet::of(&[]), KnownSet::EMPTY);
}

#[test]
fn fields_count_and_search_lists() {
    let mut fields = Fields::new();
    assert!(fields.is_empty() && fields.known() == KnownSet::EMPTY);
    fields.push(b"Via", b"1.1 a, 1.1 B");
    fields.push(b"via", b"1.1 c");
    assert_eq!((fields.len(), fields.is_empty(), fields.known()), (2, false, Known::Via.set()));
    assert_eq!(fields.known_value(Known::Via), Some(&b"1.1 a, 1.1 B"[..]), "the first line's");
    assert_eq!(fields.known_value(Known::Te), None);
    assert!(fields.list_has(Known::Via, b"1.1 b") && fields.list_has(Known::Via, b"1.1 C"));
    assert!(!fields.list_has(Known::Via, b"1.1") && !fields.list_has(Known::Te, b"1.1 a"));
    fields.clear();
    assert!(fields.is_empty() && fields.get(b"via").is_none());
}

#[test]
fn a_parser_knows_whether_it_is_within_a_head() {
    let (mut parser, mut head) = (RequestParser::default(), RequestHead::new());
    assert!(!parser.in_head());
    assert_eq!(parser.parse(b"G", &mut head), Ok(None));
    assert!(parser.in_head());
    let input = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(parser.parse(input, &mut head), Ok(Some(input.len())));
    assert!(!parser.in_head());
}
