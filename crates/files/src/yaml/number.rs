//! Numbers of plain scalars, read as Go's `strconv` reads them for go-yaml.

/// A number as JSON will carry it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// An integer in any base Go knows (`0x`, `0o`, `0b`, leading `0` for octal; underscores anywhere), or a
/// decimal float.
pub(crate) fn parse(text: &str) -> Option<Number> {
    if text.starts_with('.') {
        return float(text); // go-yaml leaves underscores in: `._5` is text
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| float(&plain))
}

fn integer(text: &str) -> Option<Number> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let (digits, radix) = base(digits);
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None; // a second sign, or nothing
    }
    if let Ok(value) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
        return Some(Number::Signed(value));
    }
    // Go's ParseUint takes no sign, not even `+`.
    let unsigned = text.starts_with(|c: char| c.is_ascii_digit());
    unsigned.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::Unsigned)
}

fn base(digits: &str) -> (&str, u32) {
    let prefixed = |radix| (digits.get(2..).unwrap_or_default(), radix);
    match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => prefixed(16),
        [b'0', b'o' | b'O', ..] => prefixed(8),
        [b'0', b'b' | b'B', ..] => prefixed(2),
        [b'0', _, ..] => (digits.get(1..).unwrap_or_default(), 8),
        _ => (digits, 10),
    }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`, and finite.
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts_well =
        unsigned.strip_prefix('.').unwrap_or(unsigned).starts_with(|c: char| c.is_ascii_digit());
    // What Rust reads beyond the pattern are words (`inf`, `nan`), which do not start with a digit.
    let value: f64 = if starts_well { text.parse().ok()? } else { return None };
    value.is_finite().then_some(Number::Float(value))
}
