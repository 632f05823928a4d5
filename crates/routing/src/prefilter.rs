//! Literals that every match of a regular expression contains.

use portcullis_model::Pattern;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, HirKind};

/// What a path must have for a pattern to be worth running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefilter {
    /// The first bytes of `prefix`, and a mask of how many they are: one comparison refuses most paths.
    head: u64,
    mask: u64,
    prefix: Box<[u8]>,
    suffix: Box<[u8]>,
    /// A literal in the middle.
    inner: Box<[u8]>,
}

impl Prefilter {
    /// The literals of a pattern; empty ones where it has none.
    pub(crate) fn of(pattern: &Pattern) -> Prefilter {
        // The syntax that the pattern was compiled with.
        let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern.as_str());
        let Ok(hir) = parsed else { return Prefilter::default() };
        let prefixes = Extractor::new().extract(&hir);
        let suffixes = Extractor::new().kind(ExtractKind::Suffix).extract(&hir);
        let prefix: Box<[u8]> = prefixes.longest_common_prefix().unwrap_or_default().into();
        let suffix: Box<[u8]> = suffixes.longest_common_suffix().unwrap_or_default().into();
        let inner = Some(longest_inner(&hir)).filter(|inner| {
            !contains(&prefix, inner) && !contains(&suffix, inner) // else it would be looked for twice
        });
        let (head, mask) = (first_bytes(&prefix), first_bytes(&vec![u8::MAX; prefix.len()]));
        Prefilter { head, mask, prefix, suffix, inner: inner.unwrap_or_default().into() }
    }

    /// Whether the pattern may match a path that begins with these [`first_bytes`].
    pub(crate) fn admits(&self, first: u64, path: &[u8]) -> bool {
        first & self.mask == self.head
            && path.starts_with(&self.prefix)
            && path.ends_with(&self.suffix)
            && contains(path, &self.inner)
    }
}

/// The first eight bytes of a text, and zeros after its end.
pub(crate) fn first_bytes(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes)
}

fn contains(path: &[u8], literal: &[u8]) -> bool {
    literal.is_empty() || path.windows(literal.len()).any(|window| window == literal)
}

/// The longest literal that stands on its own in the pattern, not in an alternative or repetition.
fn longest_inner(hir: &Hir) -> &[u8] {
    match hir.kind() {
        HirKind::Literal(literal) => &literal.0,
        HirKind::Capture(capture) => longest_inner(&capture.sub),
        HirKind::Concat(parts) => {
            parts.iter().map(longest_inner).max_by_key(|literal| literal.len()).unwrap_or_default()
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(pattern: &str) -> [String; 3] {
        let filter = Prefilter::of(&Pattern::new(pattern).unwrap());
        [filter.prefix, filter.suffix, filter.inner].map(|text| String::from_utf8(text.into()).unwrap())
    }

    #[test]
    fn literals_that_every_match_has_are_found() {
        assert_eq!(literals("/user/[0-9]+"), ["/user/", "", ""]);
        assert_eq!(literals(r"/.*\.jpg"), ["/", ".jpg", ""]);
        assert_eq!(literals("/a.*/middle/.*b"), ["/a", "b", "/middle/"]);
        assert_eq!(literals("/a.*(/middle/).*b"), ["/a", "b", "/middle/"]);
        assert_eq!(literals("/abc|/abd"), ["/ab", "", ""]);
        assert_eq!(literals("/foo|"), ["", "", ""]);
        assert_eq!(literals("(?i)/foo"), ["/", "", ""]);
        assert_eq!(literals("/x{0}y?"), ["/", "", ""]);
    }

    #[test]
    fn what_lacks_a_literal_is_not_admitted() {
        let admits = |pattern: &str, path: &str| {
            let filter = Prefilter::of(&Pattern::new(pattern).unwrap());
            filter.admits(first_bytes(path.as_bytes()), path.as_bytes())
        };
        assert!(admits("/user/[0-9]+", "/user/x"));
        assert!(!admits("/user/[0-9]+", "/use"));
        assert!(!admits("/long-prefix/.*", "/long-prefiy/"));
        assert!(!admits(r"/.*\.jpg", "/a.jpeg"));
        assert!(admits("/.*/admin/.*", "/x/admin/y"));
        assert!(!admits("/.*/admin/.*", "/x/admim/y"));
    }
}
