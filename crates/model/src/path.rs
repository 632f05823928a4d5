//! The one form of a path that matching, authorisation and forwarding see.

use std::borrow::Cow;
use std::sync::Arc;

/// Why a path has no canonical form. The answer is 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("the path does not begin with a slash")]
    NotAbsolute,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error("the path contains a malformed percent-escape")]
    MalformedEscape,
    /// A control character, a space or a `#`: none of them is in a request's path (RFC 9112 §3.2).
    #[error("the path contains a byte that is not allowed")]
    Byte,
}

/// A path (without its query) in canonical form; borrowed when it has it already, which is found without
/// decoding anything.
///
/// Escapes of unreserved characters are decoded once, the others stay with upper-case digits (RFC 3986 §6.2.2),
/// so `%2F` remains an escape and never a separator; bytes outside ASCII become escapes, and so does the backslash,
/// which no URI has and which some backends take for a slash; then dot segments are resolved (RFC 3986 §5.2.4). Repeated slashes stay: they are different paths to a backend. An empty path is
/// `/`; the `*` of `OPTIONS *` is its own canonical form.
///
/// # Errors
/// When the path is not absolute, or has a malformed escape or a byte that no path has.
pub fn canonical_path(path: &str) -> Result<Cow<'_, str>, PathError> {
    match path {
        "" => return Ok(Cow::Borrowed("/")),
        "*" => return Ok(Cow::Borrowed("*")),
        _ if !path.starts_with('/') => return Err(PathError::NotAbsolute),
        _ => {}
    }
    if is_plain(path.as_bytes()) {
        return Ok(without_dot_segments(path).map_or(Cow::Borrowed(path), Cow::Owned));
    }
    let decoded = normalise_escapes(path.as_bytes())?;
    Ok(Cow::Owned(without_dot_segments(&decoded).unwrap_or(decoded)))
}

/// Whether every byte stands for itself. Written as folds without exits, which compile to vector instructions.
fn is_plain(path: &[u8]) -> bool {
    !path
        .iter()
        .fold(false, |found, byte| found | (byte.wrapping_sub(b'!') > b'~' - b'!') | is_special(*byte))
}

fn is_special(byte: u8) -> bool {
    (byte == b'%') | (byte == b'#') | (byte == b'\\')
}

fn normalise_escapes(path: &[u8]) -> Result<String, PathError> {
    let mut out = String::with_capacity(path.len());
    let mut bytes = path.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| (byte as char).to_digit(16));
                let (high, low) = (digit(), digit());
                let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                let value = value.ok_or(PathError::MalformedEscape)?;
                if is_unreserved(value) { out.push(value as char) } else { push_escape(&mut out, value) }
            }
            b'#' | 0..=b' ' | 0x7f => return Err(PathError::Byte),
            0x80.. | b'\\' => push_escape(&mut out, byte),
            _ => out.push(byte as char),
        }
    }
    Ok(out)
}

/// RFC 3986 §2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn push_escape(out: &mut String, byte: u8) {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase();
    out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
}

/// The path with its dot segments resolved, or nothing if it has none.
fn without_dot_segments(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    if !pairs.fold(false, |found, (one, two)| found | ((*one == b'/') & (*two == b'.'))) {
        return None;
    }
    let segments = || path.split('/').skip(1);
    if !segments().any(is_dot_segment) {
        return None; // such as /.well-known
    }
    let mut out = String::with_capacity(path.len());
    for segment in segments() {
        match segment {
            "." => {}
            ".." => out.truncate(out.rfind('/').unwrap_or(0)),
            _ => {
                out.push('/');
                out.push_str(segment);
            }
        }
    }
    if path.rsplit('/').next().is_some_and(is_dot_segment) {
        out.push('/'); // a final dot segment names a folder
    }
    Some(out)
}

fn is_dot_segment(segment: &str) -> bool {
    matches!(segment, "." | "..")
}

/// What a filter puts in the place of a path, or of a path's prefix: a path in canonical form.
///
/// Source: HTTPPathModifier, whose values are any text for the API. What would end the path in a request line, in
/// Location or in a field (a query, a fragment, a space, a line's end) is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplacementPath(Arc<str>);

impl ReplacementPath {
    /// The path that a text names, from the root even where the text has no slash before it; or nothing.
    #[must_use]
    pub fn new(text: &str) -> Option<ReplacementPath> {
        if text.contains('?') {
            return None;
        }
        let absolute =
            if text.starts_with('/') { Cow::Borrowed(text) } else { Cow::Owned(format!("/{text}")) };
        canonical_path(&absolute).ok().map(|path| ReplacementPath(path.into()))
    }

    /// The path's text, which begins with a slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(path: &str) -> Result<String, PathError> {
        canonical_path(path).map(Cow::into_owned)
    }

    /// RFC 3986 §5.2.4, and what is above the root is the root.
    #[test]
    fn dot_segments_are_resolved() {
        for (given, expected) in [
            ("/a/b/../c", "/a/c"),
            ("/a/./b", "/a/b"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/..", "/"),
            ("/../../a", "/a"),
            ("/pub/../adm", "/adm"),
            ("/pub/%2e%2E/adm", "/adm"),
            ("/pub/.%2e", "/"),
            ("/a//../b", "/a/b"),
            ("/a/..//b", "//b"),
            ("/./", "/"),
            ("/.", "/"),
            ("/a/./b/./c", "/a/b/c"),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_looks_like_dot_segments_stays() {
        for path in
            ["/.well-known/x", "/!~user", "/...", "/a/..b/c..", "/..;/adm", "//adm", "/a//b/", "/a.b", "/"]
        {
            assert!(matches!(canonical_path(path), Ok(Cow::Borrowed(same)) if same == path), "{path}");
        }
    }

    /// RFC 3986 §6.2.2: what is unreserved is decoded once, the rest keeps its escape.
    #[test]
    fn only_unreserved_escapes_are_decoded() {
        for (given, expected) in [
            ("/%61%2D%7e", "/a-~"),
            ("/pub%2f..%2fadm", "/pub%2F..%2Fadm"),
            ("/%252e%252e/x", "/%252e%252e/x"),
            ("/%3f%23", "/%3F%23"),
            ("/%00", "/%00"),
            ("/ä", "/%C3%A4"),
            ("/%c3%a4", "/%C3%A4"),
            ("/%0f%f0", "/%0F%F0"),
            ("/pub\\..\\adm", "/pub%5C..%5Cadm"),
            ("/a|b", "/a|b"),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["/%zz", "/%", "/%4", "/a%", "/%+1", "/%%41"] {
            assert_eq!(canonical(path), Err(PathError::MalformedEscape), "{path}");
        }
        for path in ["/a b", "/a#b", "/a\tb", "/a\u{7f}", "/\0"] {
            assert_eq!(canonical(path), Err(PathError::Byte), "{path}");
        }
        assert_eq!(canonical("a"), Err(PathError::NotAbsolute));
        assert_eq!(canonical("**"), Err(PathError::NotAbsolute));
    }

    /// Whatever stands in a filter, a request stays one request and Location one field.
    #[test]
    fn a_replacement_cannot_end_the_path() {
        for text in [
            "/a HTTP/1.1\r\nHost: b\r\n\r\nGET /c",
            "/a\r\nSet-Cookie: b",
            "/a\n",
            "/a b",
            "/a\tb",
            "/a\0",
            "/a?b",
            "/a#b",
            "/%zz",
            "?",
        ] {
            assert_eq!(ReplacementPath::new(text), None, "{text:?}");
        }
        for (text, path) in
            [("", "/"), ("/", "/"), ("a", "/a"), ("/a/../b/", "/b/"), ("/%61/ä", "/a/%C3%A4"), ("//a", "//a")]
        {
            assert_eq!(
                ReplacementPath::new(text).as_ref().map(ReplacementPath::as_str),
                Some(path),
                "{text:?}"
            );
        }
    }

    #[test]
    fn an_absent_path_is_the_root_and_an_asterisk_itself() {
        assert_eq!(canonical("").as_deref(), Ok("/"));
        assert_eq!(canonical("*").as_deref(), Ok("*"));
    }
}
