//! Rewriting of paths, for URLRewrite and RequestRedirect alike.

use std::borrow::Cow;

use portcullis_model::PathRewrite;

/// The path after a change. The prefix of `prefix_len` bytes is the one that the rule's match took; without one
/// (exact and regular expression matches) a prefix replacement changes nothing.
///
/// Source: HTTPPathModifier field documentation. Never yields `//` at the seam, nor an empty path.
#[must_use]
pub fn rewritten<'p>(change: &'p PathRewrite, path: &'p str, prefix_len: Option<usize>) -> Cow<'p, str> {
    let whole = match change {
        PathRewrite::Full(whole) => Cow::Borrowed(&**whole),
        PathRewrite::Prefix(replacement) => {
            let Some(rest) = prefix_len.and_then(|len| path.get(len..)) else { return Cow::Borrowed(path) };
            match (replacement.strip_suffix('/').unwrap_or(replacement), rest) {
                (_, "") => Cow::Borrowed(&**replacement),
                ("", rest) => Cow::Borrowed(rest),
                (trimmed, rest) => Cow::Owned(format!("{trimmed}{rest}")),
            }
        }
    };
    match whole.as_bytes().first() {
        Some(b'/') => whole,
        _ => Cow::Owned(format!("/{whole}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of HTTPPathModifier.replacePrefixMatch; the model holds prefixes without a trailing slash.
    #[test]
    fn prefixes_are_replaced_as_the_api_tabulates() {
        for (path, prefix, replacement, expected) in [
            ("/foo/bar", "/foo", "/xyz", "/xyz/bar"),
            ("/foo/bar", "/foo", "/xyz/", "/xyz/bar"),
            ("/foo", "/foo", "/xyz", "/xyz"),
            ("/foo/", "/foo", "/xyz", "/xyz/"),
            ("/foo/bar", "/foo", "", "/bar"),
            ("/foo/", "/foo", "", "/"),
            ("/foo", "/foo", "", "/"),
            ("/foo/", "/foo", "/", "/"),
            ("/foo", "/foo", "/", "/"),
            ("/foo/bar", "", "/xyz", "/xyz/foo/bar"),
            ("/", "", "/xyz", "/xyz/"),
        ] {
            let change = PathRewrite::Prefix(replacement.into());
            assert_eq!(
                rewritten(&change, path, Some(prefix.len())),
                expected,
                "{path} {prefix} {replacement}"
            );
        }
    }

    #[test]
    fn a_full_replacement_takes_the_whole_path() {
        assert_eq!(rewritten(&PathRewrite::Full("/one".into()), "/a/b", None), "/one");
        assert_eq!(rewritten(&PathRewrite::Full("".into()), "/a/b", Some(2)), "/");
    }

    #[test]
    fn without_a_prefix_match_nothing_is_replaced() {
        assert_eq!(rewritten(&PathRewrite::Prefix("/x".into()), "/a/b", None), "/a/b");
    }
}
