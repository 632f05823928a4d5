//! What HTTP/3 is written in: numbers, frames and codes (RFC 9114 §7, §8.1; RFC 9000 §16).

use bytes::{Buf, Bytes};
use quinn::VarInt;

/// Types of frames (RFC 9114 §7.2).
pub(super) mod kind {
    pub(in super::super) const DATA: u64 = 0x0;
    pub(in super::super) const HEADERS: u64 = 0x1;
    pub(in super::super) const CANCEL_PUSH: u64 = 0x3;
    pub(in super::super) const SETTINGS: u64 = 0x4;
    pub(in super::super) const PUSH_PROMISE: u64 = 0x5;
    pub(in super::super) const GOAWAY: u64 = 0x7;
    pub(in super::super) const MAX_PUSH_ID: u64 = 0xd;
    /// What HTTP/2 has under these numbers is an error here (RFC 9114 §7.2.8).
    pub(in super::super) const OF_HTTP2: [u64; 4] = [0x2, 0x6, 0x8, 0x9];
}

/// Why a stream or connection ends (RFC 9114 §8.1; RFC 9204 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Code {
    NoError = 0x100,
    Internal = 0x102,
    StreamCreation = 0x103,
    ClosedCriticalStream = 0x104,
    FrameUnexpected = 0x105,
    Frame = 0x106,
    ExcessiveLoad = 0x107,
    Id = 0x108,
    Settings = 0x109,
    MissingSettings = 0x10a,
    RequestRejected = 0x10b,
    RequestCancelled = 0x10c,
    RequestIncomplete = 0x10d,
    Message = 0x10e,
    QpackDecompression = 0x200,
    QpackEncoderStream = 0x201,
}

impl From<Code> for VarInt {
    fn from(code: Code) -> VarInt {
        VarInt::from_u32(code as u32)
    }
}

/// A number at the beginning of `bytes`, and how long it is; none if it is not here whole.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// Writes a number, in its shortest form; one beyond 2⁶²−1 cannot be.
pub(super) fn write_number(into: &mut Vec<u8>, number: u64) {
    let bytes = number.to_be_bytes();
    let (form, length) = match number {
        0..=0x3f => (0, 1),
        0x40..=0x3fff => (1, 2),
        0x4000..=0x3fff_ffff => (2, 4),
        _ => (3, 8),
    };
    let at = into.len();
    into.extend(bytes.iter().skip(8 - length));
    if let Some(first) = into.get_mut(at) {
        *first = *first & 0x3f | form << 6;
    }
}

/// The beginning of a frame.
pub(super) fn write_header(into: &mut Vec<u8>, kind: u64, length: usize) {
    write_number(into, kind);
    write_number(into, length as u64);
}

/// A frame's beginning as it comes in: type and length.
#[derive(Default)]
pub(super) struct Header {
    bytes: [u8; 16],
    have: usize,
}

impl Header {
    /// Takes what of `bytes` belongs to the header; type and length once they are whole.
    pub(super) fn take(&mut self, bytes: &mut Bytes) -> Option<(u64, u64)> {
        loop {
            if let Some(found) = self.read() {
                self.have = 0;
                return Some(found);
            }
            let next = *bytes.first()?;
            *self.bytes.get_mut(self.have)? = next;
            self.have += 1;
            bytes.advance(1);
        }
    }

    fn read(&self) -> Option<(u64, u64)> {
        let bytes = self.bytes.get(..self.have)?;
        let (kind, length) = number(bytes)?;
        let (size, _) = number(bytes.get(length..)?)?;
        Some((kind, size))
    }

    /// Whether a part of a header has come.
    pub(super) fn begun(&self) -> bool {
        self.have > 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_and_headers_are_read_as_written(kind in 0..1u64 << 62, length in 0..1usize << 40, cut in 1usize..20) {
            let mut written = Vec::new();
            write_header(&mut written, kind, length);
            written.extend_from_slice(b"payload");
            let mut header = Header::default();
            let mut parts = written.chunks(cut).map(Bytes::copy_from_slice);
            let mut rest = Bytes::new();
            let found = loop {
                if let Some(found) = header.take(&mut rest) {
                    break found;
                }
                prop_assert!(rest.is_empty());
                rest = parts.next().unwrap();
            };
            prop_assert_eq!(found, (kind, length as u64));
            let left: Vec<u8> = std::iter::once(rest).chain(parts).flatten().collect();
            prop_assert_eq!(left, b"payload");
            prop_assert!(!header.begun());
        }
    }

    /// RFC 9000 §A.1, the examples.
    #[test]
    fn numbers_are_those_of_the_specification() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            let mut written = Vec::new();
            write_number(&mut written, value);
            assert_eq!((&*written, number(bytes)), (bytes, Some((value, bytes.len()))));
        }
        assert_eq!(number(&[0x40, 0x25]), Some((37, 2)), "a longer form");
    }
}
