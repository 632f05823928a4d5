//! The Huffman code of HPACK and QPACK (RFC 7541 §5.2, Appendix B), read.

use std::sync::LazyLock;

/// How long each byte's code is, in bits, and that of the end, which is never sent. The code is canonical: codes of one
/// length are consecutive, in the order of the bytes, and follow those that are shorter.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26, 30,
];

/// The longest code, in bits.
const LONGEST: usize = 30;

/// The codes of one length.
#[derive(Clone, Debug, Default)]
struct Group {
    first: u32,
    /// What they stand for; 256 is the end.
    symbols: Vec<u16>,
}

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let mut next = 0;
    let group = |length: usize| {
        let of_length = |(_, its): &(u16, &u8)| usize::from(**its) == length;
        let symbols: Vec<u16> = (0u16..).zip(&LENGTHS).filter(of_length).map(|(symbol, _)| symbol).collect();
        let first = next;
        next = (first + symbols.len() as u32) << 1;
        Group { first, symbols }
    };
    (0..=LONGEST).map(group).collect()
});

/// Decodes a string; none if it is malformed.
pub(super) fn decode(coded: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let (mut code, mut length) = (0u32, 0usize);
    for byte in coded {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            let group = GROUPS.get(length)?;
            let place = code.checked_sub(group.first).and_then(|place| usize::try_from(place).ok());
            if let Some(symbol) = place.and_then(|place| group.symbols.get(place)) {
                into.push(u8::try_from(*symbol).ok()?);
                (code, length) = (0, 0);
            }
        }
    }
    // What is left is the beginning of the end's code, all ones, and less than a byte.
    (length < 8 && code == (1 << length) - 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        decode(coded, &mut text)?;
        String::from_utf8(text).ok()
    }

    /// RFC 7541 §C.4, §C.6.
    #[test]
    fn strings_are_those_of_the_specification() {
        let coded = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&coded).as_deref(), Some("www.example.com"));
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).as_deref(), Some("no-cache"));
        assert_eq!(decoded(&[0x64, 0x02]).as_deref(), Some("302"));
        assert_eq!(decoded(&[]).as_deref(), Some(""));
    }

    /// RFC 7541 §5.2: padding is shorter than a byte and all ones, and the end is not sent.
    #[test]
    fn other_padding_is_malformed() {
        assert_eq!(decoded(&[0x64, 0x02, 0xff]), None, "a byte of padding");
        assert_eq!(decoded(&[0x00]), None, "zeros");
        assert_eq!(decoded(&[0xff; 4]), None, "the end");
    }

    /// The code is complete: every sequence of bits means something.
    #[test]
    fn the_code_is_complete() {
        let last = GROUPS.last().unwrap();
        assert_eq!(last.first + last.symbols.len() as u32, 1 << LONGEST);
        assert_eq!(last.symbols.last(), Some(&256));
    }
}
