//! Writing chunks: the caller sends [`ChunkHead`], the data, and [`CHUNK_END`], in one vectored write.

use crate::fields::Fields;

/// What follows the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// The last chunk with an empty trailer section: the end of the body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The line before the data of a chunk, without allocation.
#[derive(Debug, Clone, Copy)]
pub struct ChunkHead {
    /// Digits from the right, then CRLF.
    bytes: [u8; Self::CAPACITY],
    start: usize,
}

impl ChunkHead {
    /// 16 digits hold any `u64`; then CRLF.
    const CAPACITY: usize = 18;

    /// The head of a chunk of `len` bytes, which must not be zero: that would be the [`LAST_CHUNK`].
    #[must_use]
    pub fn new(len: u64) -> Self {
        debug_assert!(len != 0, "a chunk of no bytes ends the body");
        let mut bytes = [0; Self::CAPACITY];
        let mut start = Self::CAPACITY;
        let mut rest = len;
        let line_end = b"\r\n".iter().rev().copied();
        let digits = std::iter::from_fn(|| {
            let digit = (rest != 0).then_some(rest & 15)?;
            rest >>= 4;
            Some(if digit < 10 { b'0' + digit as u8 } else { b'a' - 10 + digit as u8 })
        });
        for (place, byte) in bytes.iter_mut().rev().zip(line_end.chain(digits)) {
            *place = byte;
            start -= 1;
        }
        Self { bytes, start }
    }

    /// The line with its CRLF.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

/// Appends a whole chunk; nothing for no data, since that would end the body.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.extend_from_slice(ChunkHead::new(data.len() as u64).as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(CHUNK_END);
}

/// Appends the last chunk with these trailers. Fields that may not be trailers are left out
/// ([`is_forbidden_trailer`](crate::is_forbidden_trailer)).
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &Fields) {
    out.extend_from_slice(b"0\r\n");
    for (name, value, _) in trailers.iter().filter(|(name, ..)| !crate::trailers::is_forbidden_trailer(name))
    {
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_hexadecimal_without_leading_zeros() {
        for len in [1, 9, 10, 15, 16, 255, 256, 0xdead_beef, u64::MAX] {
            assert_eq!(ChunkHead::new(len).as_bytes(), format!("{len:x}\r\n").as_bytes());
        }
    }

    #[test]
    fn no_data_writes_no_chunk() {
        let mut out = Vec::new();
        write_chunk(&mut out, b"");
        assert_eq!(out, b"");
        write_chunk(&mut out, b"abc");
        assert_eq!(out, b"3\r\nabc\r\n");
    }

    #[test]
    fn trailers_that_frame_or_route_are_not_written() {
        let mut trailers = Fields::new();
        trailers.push(b"grpc-status", b"0");
        trailers.push(b"Content-Length", b"5");
        trailers.push(b"Host", b"evil");
        let mut out = Vec::new();
        write_last_chunk(&mut out, &trailers);
        assert_eq!(out, b"0\r\ngrpc-status: 0\r\n\r\n");
    }
}
