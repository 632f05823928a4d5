//! What this crate's decoder makes of an input cut into pieces, in the terms of the reference; and when the two
//! agree.

use portcullis_http1::{ChunkDecoder, Piece};

use super::reference::{self, DROPPED, Outcome};

/// Feeds `input` in pieces that end at `cuts` (and at its end).
pub(crate) fn decode_cut(input: &[u8], cuts: &[usize]) -> (Outcome, Vec<u8>) {
    let mut decoder = ChunkDecoder::default();
    let (mut data, mut used) = (Vec::new(), 0);
    for end in cuts.iter().copied().chain([input.len()]) {
        while used <= end {
            match decoder.decode(&input[used..end.min(input.len())]) {
                Ok((n, Piece::Data(piece))) => {
                    data.extend_from_slice(piece);
                    used += n;
                }
                Ok((n, Piece::More)) => {
                    used += n;
                    break;
                }
                Ok((n, Piece::End)) => {
                    let trailers = decoder.trailers().iter();
                    let trailers = trailers.map(|(name, value, _)| (name.to_vec(), value.to_vec())).collect();
                    return (Outcome::Whole { data: data.clone(), trailers, used: used + n }, data);
                }
                Err(_) => return (Outcome::Wrong, data),
            }
        }
    }
    (Outcome::Partial { data: data.clone() }, data)
}

/// Panics unless decoder and reference agree. The decoder may see earlier that a line is wrong than the reference,
/// which waits for its end; then every end of that line must be wrong.
pub(crate) fn assert_agreement(input: &[u8], cuts: &[usize]) {
    if names_other_forbidden_trailer(input) {
        return;
    }
    let (ours, data) = decode_cut(input, cuts);
    let theirs = reference::decode(input);
    if ours == theirs {
        return;
    }
    let Outcome::Partial { data: expected } = &theirs else {
        panic!("{:?}: {ours:?}, not {theirs:?}", input.escape_ascii().to_string());
    };
    assert_eq!((&ours, &data), (&Outcome::Wrong, expected), "{}", input.escape_ascii());
    let mut ended = input.to_vec();
    ended.extend_from_slice(b"\r\n");
    assert_eq!(reference::decode(&ended), Outcome::Wrong, "{}", input.escape_ascii());
}

/// The reference knows only some of the names that are dropped.
fn names_other_forbidden_trailer(input: &[u8]) -> bool {
    let lines = input.split(|&b| b == b'\n');
    let mut names = lines.filter_map(|line| line.split(|&b| b == b':').next());
    names.any(|name| {
        let known = DROPPED.iter().any(|dropped| dropped.as_bytes().eq_ignore_ascii_case(name));
        !known && portcullis_http1::is_forbidden_trailer(name)
    })
}
