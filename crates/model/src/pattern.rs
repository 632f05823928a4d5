//! Regular expressions in the subset that all engines share.

use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// Bytes that one compiled pattern may take; beyond it the pattern is refused in every engine.
pub(crate) const PATTERN_SIZE_LIMIT: usize = 256 * 1024;

/// A regular expression that matches a whole text, in time linear in the text.
///
/// The common subset of RE2 and Rust's regex: no look-around, no back-references, ASCII classes (`\d`, `\w`,
/// `\s`, `\b`), no Unicode properties and no Rust-only class operations.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Arc<str>,
    regex: Regex,
}

/// Why a regular expression is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// When it does not parse, is not in the common subset, or compiles to more than the size limit.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        reject_rust_only(text)?;
        let anchored = format!("^(?:{text})$");
        // On its own, so that an unbalanced `)` cannot end our own group.
        regex_syntax::ast::parse::Parser::new().parse(text).map_err(|e| PatternError(parse_fault(&e)))?;
        let regex = Regex::builder()
            .syntax(syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(false))
            .configure(
                Regex::config()
                    .utf8_empty(false)
                    .nfa_size_limit(Some(PATTERN_SIZE_LIMIT))
                    .onepass_size_limit(Some(PATTERN_SIZE_LIMIT)),
            )
            .build(&anchored)
            .map_err(|e| PatternError(describe(&e)))?;
        Ok(Pattern { text: text.into(), regex })
    }

    /// The expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

/// In one line, since conditions and diagnostics quote it; the error's own text draws the expression.
fn parse_fault(error: &regex_syntax::ast::Error) -> String {
    format!("{} at character {}", error.kind(), error.span().start.column)
}

fn describe(error: &regex_automata::meta::BuildError) -> String {
    match (error.syntax_error(), error.size_limit()) {
        (Some(regex_syntax::Error::Parse(error)), _) => parse_fault(error),
        (Some(regex_syntax::Error::Translate(error)), _) => error.kind().to_string(),
        (Some(other), _) => other.to_string(),
        (None, Some(limit)) => format!("the expression compiles to more than {limit} bytes"),
        (None, None) => error.to_string(),
    }
}

/// What Rust's syntax takes and RE2's does not: class operations `[a&&b]`, nested classes and comments by `x`.
fn reject_rust_only(text: &str) -> Result<(), PatternError> {
    use regex_syntax::ast::{self, Ast, visit};
    struct Check;
    impl ast::Visitor for Check {
        type Output = ();
        type Err = &'static str;
        fn finish(self) -> Result<(), Self::Err> {
            Ok(())
        }
        fn visit_pre(&mut self, node: &Ast) -> Result<(), Self::Err> {
            match node {
                Ast::ClassUnicode(_) => Err("Unicode classes (\\p{…}) are not in the common subset"),
                Ast::Flags(flags) => check_flags(&flags.flags),
                Ast::Group(group) => group.flags().map_or(Ok(()), check_flags),
                Ast::Assertion(assertion) => check_assertion(&assertion.kind),
                _ => Ok(()),
            }
        }
        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
            match item {
                ast::ClassSetItem::Bracketed(_) => Err("nested classes are not in the common subset"),
                ast::ClassSetItem::Unicode(_) => Err("Unicode classes (\\p{…}) are not in the common subset"),
                _ => Ok(()),
            }
        }
        fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), Self::Err> {
            Err("class operations (&&, --, ~~) are not in the common subset")
        }
    }
    let Ok(ast) = ast::parse::Parser::new().parse(text) else {
        return Ok(()); // the compiler's own message is better
    };
    visit(&ast, Check).map_err(|why| PatternError(why.to_owned()))
}

fn check_flags(flags: &regex_syntax::ast::Flags) -> Result<(), &'static str> {
    use regex_syntax::ast::{Flag, FlagsItemKind};
    let foreign = flags.items.iter().any(|item| {
        matches!(item.kind, FlagsItemKind::Flag(Flag::Unicode | Flag::IgnoreWhitespace | Flag::CRLF))
    });
    if foreign { Err("the flags u, x and R are not in the common subset") } else { Ok(()) }
}

fn check_assertion(kind: &regex_syntax::ast::AssertionKind) -> Result<(), &'static str> {
    use regex_syntax::ast::AssertionKind::{
        EndLine, EndText, NotWordBoundary, StartLine, StartText, WordBoundary,
    };
    match kind {
        StartLine | EndLine | StartText | EndText | WordBoundary | NotWordBoundary => Ok(()),
        _ => Err("half word boundaries (\\<, \\b{…}) are not in the common subset"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HTTPPathMatch RegularExpression matches the whole path (our decision where the API is silent).
    #[test]
    fn both_ends_are_anchored() {
        let pattern = Pattern::new("/admin|/user/[0-9]+").unwrap();
        assert!(pattern.matches(b"/admin"));
        assert!(pattern.matches(b"/user/12"));
        assert!(!pattern.matches(b"/foo/admin"));
        assert!(!pattern.matches(b"/admin/bar"));
        assert!(!pattern.matches(b"/user/12/"));
    }

    #[test]
    fn what_only_one_engine_takes_is_refused() {
        for text in [r"\p{L}", "[a&&b]", "[a[b]]", "(?x)a b", "(?u)a", r"\<a", "(?=a)", r"(a)\1", "a)(b"] {
            assert!(Pattern::new(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn classes_are_ascii() {
        let pattern = Pattern::new(r"\d+").unwrap();
        assert!(pattern.matches(b"42"));
        assert!(!pattern.matches("٤٢".as_bytes()));
    }

    #[test]
    fn a_pattern_over_the_size_limit_is_refused() {
        assert!(Pattern::new("(?:a{1000}){1000}").is_err());
    }
}
