//! Requests of HTTP/3: where pieces of a stream end changes nothing, and a head that is let through is one message of
//! HTTP/1.1 to us and to httparse, and the same one; its trailers add no line.
//!
//! The first byte of the input says how long the pieces are; the rest is the stream.

use portcullis_proxy::{Http3Part, http3_head, http3_parts, http3_trailers};

use crate::multiplexed::is_one_request;

pub(crate) fn run(input: &[u8]) {
    let Some((piece, stream)) = input.split_first() else { return };
    let parts = http3_parts(stream, usize::MAX);
    assert_eq!(http3_parts(stream, usize::from(*piece)), parts);
    let mut sections = parts.iter().filter_map(|part| match part {
        Http3Part::Fields(section) => Some(section),
        Http3Part::Data(_) => None,
    });
    let Some(head) = sections.next() else { return };
    assert_eq!(parts.first(), Some(&Http3Part::Fields(head.clone())), "a body before the head");
    for ended in [false, true] {
        if let Some(head) = http3_head(head, ended) {
            is_one_request(ended, head);
        }
    }
    if let Some(trailers) = sections.next().and_then(|section| http3_trailers(section)) {
        for (name, value, _) in trailers.iter() {
            let text = [name, value].concat();
            assert!(!name.is_empty() && !name.contains(&b':'), "{}", name.escape_ascii());
            assert!(!text.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{}", text.escape_ascii());
        }
    }
    assert!(sections.next().is_none(), "a third field section");
}
