//! Integers and strings of field sections (RFC 9204 §4.1; RFC 7541 §5.1, §5.2).

use super::{Error, huffman};

/// The greatest shift under which 7 bits more keep an integer below 2⁶³.
const MAX_SHIFT: u32 = 56;

/// Reads a section from its beginning.
pub(super) struct Reader<'s> {
    rest: &'s [u8],
}

impl<'s> Reader<'s> {
    pub(super) fn new(section: &'s [u8]) -> Reader<'s> {
        Reader { rest: section }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, which stays; 0 at the end.
    pub(super) fn first(&self) -> u8 {
        self.rest.first().copied().unwrap_or_default()
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or(Error::Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    /// An integer in the low bits of a byte and what follows; and the byte.
    pub(super) fn integer(&mut self, bits: u8) -> Result<(u8, u64), Error> {
        let first = self.byte()?;
        let mask = u8::MAX >> (8 - bits);
        let mut value = u64::from(first & mask);
        if first & mask < mask {
            return Ok((first, value));
        }
        for shift in (0..=MAX_SHIFT).step_by(7) {
            let next = self.byte()?;
            value += u64::from(next & 0x7f) << shift;
            if next & 0x80 == 0 {
                return Ok((first, value));
            }
        }
        Err(Error::Malformed)
    }

    /// A string whose length is in the low bits of a byte; the bit above says that it is Huffman-coded.
    pub(super) fn string(&mut self, bits: u8, into: &mut Vec<u8>) -> Result<(), Error> {
        let (first, length) = self.integer(bits)?;
        let length = usize::try_from(length).map_err(|_| Error::Malformed)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(Error::Malformed)?;
        self.rest = rest;
        if first & (1 << bits) == 0 {
            into.extend_from_slice(text);
            return Ok(());
        }
        huffman::decode(text, into).ok_or(Error::Malformed)
    }
}

/// Writes an integer into the low bits of a byte, the others of which are given, and what follows.
pub(super) fn write(into: &mut Vec<u8>, high: u8, bits: u8, value: usize) {
    let mask = usize::from(u8::MAX >> (8 - bits));
    let low = |value: usize| u8::try_from(value & 0xff).unwrap_or_default();
    if value < mask {
        return into.push(high | low(value));
    }
    into.push(high | low(mask));
    let mut rest = value - mask;
    while rest >= 0x80 {
        into.push(low(rest & 0x7f) | 0x80);
        rest >>= 7;
    }
    into.push(low(rest));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 7541 §C.1, the examples.
    #[test]
    fn integers_are_those_of_the_specification() {
        for (bits, bytes, value) in
            [(5, &[0x0a][..], 10), (5, &[0x1f, 0x9a, 0x0a], 1337), (8, &[0x2a], 42), (5, &[0x1f, 0x00], 31)]
        {
            let mut written = Vec::new();
            write(&mut written, 0, bits, value);
            assert_eq!(written, bytes);
            assert_eq!(Reader::new(bytes).integer(bits), Ok((bytes[0], value as u64)));
        }
        assert_eq!(Reader::new(&[0xff; 12]).integer(8), Err(Error::Malformed), "it never ends");
    }

    proptest! {
        #[test]
        fn integers_are_read_as_written(bits in 1u8..=8, value in 0..1usize << 62) {
            let mut written = Vec::new();
            write(&mut written, 0, bits, value);
            let mut reader = Reader::new(&written);
            prop_assert_eq!(reader.integer(bits).map(|(_, value)| value), Ok(value as u64));
            prop_assert!(reader.is_empty());
        }
    }
}
