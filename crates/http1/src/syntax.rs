//! Character classes and small grammars of RFC 9110 §5.6 and RFC 9112.

const TOKEN: u8 = 1;
const REG_NAME: u8 = 2;

/// Which classes each byte belongs to.
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut b = 0usize;
    while b < 256 {
        let c = b as u8;
        let mut class = 0;
        if c.is_ascii_alphanumeric() || in_set(c, b"!#$%&'*+-.^_`|~") {
            class |= TOKEN;
        }
        if c.is_ascii_alphanumeric() || in_set(c, b"-._~!$&'()*+,;=%") {
            class |= REG_NAME;
        }
        #[allow(clippy::indexing_slicing, reason = "const evaluation; b < 256")]
        {
            table[b] = class;
        }
        b += 1;
    }
    table
}

const fn in_set(c: u8, mut set: &[u8]) -> bool {
    while let [first, rest @ ..] = set {
        if *first == c {
            return true;
        }
        set = rest;
    }
    false
}

fn is(b: u8, class: u8) -> bool {
    #[allow(clippy::indexing_slicing, reason = "a byte cannot exceed the 256 entries")]
    let classes = CLASS[b as usize];
    classes & class != 0
}

fn all(bytes: &[u8], class: u8) -> bool {
    bytes.iter().all(|&b| is(b, class))
}

/// How many bytes at the start may belong to a `token`.
pub(crate) fn token_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| !is(b, TOKEN)).unwrap_or(bytes.len())
}

/// RFC 9110 §5.6.2: `token`.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && all(bytes, TOKEN)
}

/// What a path and query may hold: visible US-ASCII but `#`. Laxer than RFC 3986 (which also excludes `"<>\^{|}`
/// and the backquote), because widespread clients send those and none of them can change how a message is framed.
pub(crate) fn is_target(bytes: &[u8]) -> bool {
    !any(bytes, |b| !b.is_ascii_graphic() | (b == b'#'))
}

/// Whether `bad` holds for a byte; blocks have no early exit, so that they become vector instructions.
fn any(bytes: &[u8], bad: impl Fn(u8) -> bool) -> bool {
    let found = |block: &[u8]| block.iter().fold(false, |found, &b| found | bad(b));
    let (blocks, rest) = bytes.as_chunks::<16>();
    blocks.iter().any(|block| found(block)) || found(rest)
}

/// How many bytes are control characters, horizontal tab, CR and LF among them.
///
/// Counts in a `u8` as long as it can hold the count, since then it becomes vector instructions.
pub(crate) fn count_controls(bytes: &[u8]) -> usize {
    const BLOCK: usize = 192;
    let control = |b: u8| u8::from((b < 0x20) | (b == 0x7f));
    let count = |block: &[u8]| block.iter().fold(0u8, |count, &b| count.wrapping_add(control(b)));
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    blocks.iter().map(|block| usize::from(count(block))).sum::<usize>() + usize::from(count(rest))
}

/// RFC 3986 §3.2.2: `reg-name`, IPv4 addresses included; percent-encodings are checked to be whole.
pub(crate) fn is_reg_name(bytes: &[u8]) -> bool {
    all(bytes, REG_NAME) && (memchr::memchr(b'%', bytes).is_none() || whole_escapes(bytes))
}

fn whole_escapes(mut bytes: &[u8]) -> bool {
    while let Some(at) = memchr::memchr(b'%', bytes) {
        match bytes.get(at + 1..at + 3) {
            Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {}
            _ => return false,
        }
        bytes = bytes.get(at + 3..).unwrap_or_default();
    }
    true
}

/// RFC 9110 §5.5: field content without control characters; horizontal tab and bytes from 0x80 are allowed.
pub(crate) fn is_field_content(bytes: &[u8]) -> bool {
    !any(bytes, |b| ((b < 0x20) & (b != b'\t')) | (b == 0x7f))
}

/// RFC 9110 §5.6.3: without optional white space (space, horizontal tab) at both ends.
pub(crate) fn trim_ows(bytes: &[u8]) -> &[u8] {
    trim_ows_end(trim_ows_start(bytes))
}

/// Without optional white space at the start.
pub(crate) fn trim_ows_start(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// Without optional white space at the end.
pub(crate) fn trim_ows_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// `1*DIGIT` that fits in a `u64`: no sign, no white space, nothing else.
pub(crate) fn parse_decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |value, &b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The non-empty elements of a comma-separated list, trimmed (RFC 9110 §5.6.1); commas within quoted strings are
/// not special here, which suits lists of tokens.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(trim_ows).filter(|element| !element.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_rfc_9110_5_6_2() {
        for b in 0..=255u8 {
            let expected = b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&b);
            assert_eq!(is_token(&[b]), expected, "byte {b:#x}");
        }
        assert!(!is_token(b""));
    }

    #[test]
    fn field_content_excludes_controls_only() {
        for b in 0..=255u8 {
            assert_eq!(is_field_content(&[b]), b == b'\t' || (b >= 0x20 && b != 0x7f), "byte {b:#x}");
        }
        assert!(is_field_content(b""));
    }

    #[test]
    fn controls_are_counted_in_any_amount() {
        let mut bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(count_controls(&bytes), 33);
        bytes = vec![0x7f; 10_001];
        assert_eq!(count_controls(&bytes), 10_001);
        assert_eq!(count_controls(b"a\tb\r\n"), 3);
    }

    #[test]
    fn decimals_are_digits_only_and_bounded() {
        assert_eq!(parse_decimal(b"0"), Some(0));
        assert_eq!(parse_decimal(b"0042"), Some(42));
        assert_eq!(parse_decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            [&b""[..], b"18446744073709551616", b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1,1", b"1_0", b"\xb2"]
        {
            assert_eq!(parse_decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn reg_names_have_whole_escapes() {
        assert!(is_reg_name(b"a-b.example"));
        assert!(is_reg_name(b"%41b"));
        for bad in [&b"a%"[..], b"a%4", b"a%4g", b"a b", b"a/b", b"a@b", b"a:b", b"a\xe4"] {
            assert!(!is_reg_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn lists_skip_empty_elements() {
        assert_eq!(list(b" a ,, b\t,c ").collect::<Vec<_>>(), [&b"a"[..], b"b", b"c"]);
        assert_eq!(list(b"").count(), 0);
    }
}
