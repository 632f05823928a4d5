//! Rewriting of paths, for URLRewrite and RequestRedirect alike.

use std::borrow::Cow;

use portcullis_model::PathRewrite;

/// The path after a change. The prefix of `prefix_len` bytes is the one that the rule's match took; without one
/// (exact and regular expression matches) a prefix replacement changes nothing.
///
/// Source: HTTPPathModifier field documentation. Never yields `//` at the seam, nor an empty path. The `*` of `OPTIONS *`
/// is below every prefix `/` and has no prefix.
#[must_use]
pub fn rewritten<'p>(change: &'p PathRewrite, path: &'p str, prefix_len: Option<usize>) -> Cow<'p, str> {
    match change {
        PathRewrite::Full(whole) => Cow::Borrowed(whole.as_str()),
        PathRewrite::Prefix(replacement) => {
            let rest = prefix_len.and_then(|len| path.get(len..)).filter(|rest| *rest != "*");
            let Some(rest) = rest else { return Cow::Borrowed(path) };
            let replacement = replacement.as_str();
            match (replacement.strip_suffix('/').unwrap_or(replacement), rest) {
                (_, "") => Cow::Borrowed(replacement),
                ("", rest) => Cow::Borrowed(rest),
                (trimmed, rest) => Cow::Owned(format!("{trimmed}{rest}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::ReplacementPath;

    use super::*;

    fn full(path: &str) -> PathRewrite {
        PathRewrite::Full(ReplacementPath::new(path).unwrap())
    }

    fn prefix(path: &str) -> PathRewrite {
        PathRewrite::Prefix(ReplacementPath::new(path).unwrap())
    }

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
            let change = self::prefix(replacement);
            let rewritten = rewritten(&change, path, Some(prefix.len()));
            assert_eq!(rewritten, expected, "{path} {prefix} {replacement}");
        }
    }

    #[test]
    fn a_full_replacement_takes_the_whole_path() {
        assert_eq!(rewritten(&full("/one"), "/a/b", None), "/one");
        assert_eq!(rewritten(&full(""), "/a/b", Some(2)), "/");
    }

    #[test]
    fn without_a_prefix_match_nothing_is_replaced() {
        assert_eq!(rewritten(&prefix("/x"), "*", Some(0)), "*");
        assert_eq!(rewritten(&prefix("/x"), "/a/b", None), "/a/b");
    }
}
