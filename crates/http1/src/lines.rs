//! Lines of a head as they arrive, and field lines within them: shared by requests, responses and trailers.

use crate::error::HeadError;
use crate::fields::{Entry, Fields, Span};
use crate::known::Known;
use crate::limits::HeadLimits;
use crate::syntax;

/// Finds lines in input that grows, looking at each byte once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lines {
    /// Where the current line begins.
    start: usize,
    /// Up to where the current line is known to hold no LF.
    seen: usize,
    /// The number of whole lines.
    count: usize,
}

impl Lines {
    /// Whether nothing was consumed or looked at.
    pub(crate) fn is_fresh(self) -> bool {
        self.seen == 0
    }

    /// Where the line after the last one begins.
    pub(crate) fn consumed(self) -> usize {
        self.start
    }

    /// How many lines there were.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// The next whole line, without its CRLF. `Ok(None)` asks for more input; `BlockTooLarge` means that the line
    /// does not end within `limit` bytes of the input.
    pub(crate) fn next(&mut self, input: &[u8], limit: usize) -> Result<Option<Span>, HeadError> {
        let within = input.get(..limit).unwrap_or(input);
        let Some(ahead) = memchr::memchr(b'\n', within.get(self.seen..).unwrap_or_default()) else {
            self.seen = within.len();
            return if within.len() == limit { Err(HeadError::BlockTooLarge) } else { Ok(None) };
        };
        let lf = self.seen + ahead;
        let line = within.get(self.start..lf).unwrap_or_default();
        let [content @ .., b'\r'] = line else {
            return Err(HeadError::BareLf);
        };
        let span = Span::new(self.start, self.start + content.len());
        self.count += 1;
        self.start = lf + 1;
        self.seen = lf + 1;
        Ok(Some(span))
    }
}

/// Reads the field line at `line` of `input` into `fields`, whose text will be `input`. Control characters in values
/// are left to [`check_text`].
pub(crate) fn field(
    input: &[u8],
    line: Span,
    fields: &mut Fields,
    limits: HeadLimits,
) -> Result<(), HeadError> {
    let bytes = line.of(input);
    let name_len = syntax::token_len(bytes);
    let (name, rest) = bytes.split_at_checked(name_len).unwrap_or_default();
    let [b':', value @ ..] = rest else {
        return Err(no_name(name, rest));
    };
    if name.is_empty() {
        return Err(HeadError::FieldName);
    }
    if fields.entries.len() >= limits.fields {
        return Err(HeadError::TooManyFields);
    }
    let known = Known::from_token(name);
    if let Some(known) = known {
        fields.known.insert(known);
    }
    let name_start = line.start as usize;
    fields.entries.push(Entry {
        name: Span::new(name_start, name_start + name_len),
        value: value_span(value, line.end as usize),
        line_end: line.end.saturating_add(2),
        known,
    });
    Ok(())
}

/// `value` reaches to `end`; its span without white space around it.
fn value_span(value: &[u8], end: usize) -> Span {
    let trimmed_start = syntax::trim_ows_start(value);
    let trimmed = syntax::trim_ows_end(trimmed_start);
    let start = end - trimmed_start.len();
    Span::new(start, start + trimmed.len())
}

/// Why a line does not begin with `token ":"`, given its token and what follows.
fn no_name(name: &[u8], rest: &[u8]) -> HeadError {
    match rest.first() {
        None => HeadError::FieldLine,
        Some(b' ' | b'\t') if name.is_empty() => HeadError::ObsFold,
        Some(b' ' | b'\t') if syntax::trim_ows(rest).first() == Some(&b':') => HeadError::SpaceBeforeColon,
        Some(b'\r') => HeadError::BareCr,
        Some(0) => HeadError::Nul,
        Some(_) if !rest.contains(&b':') => HeadError::FieldLine,
        Some(_) => HeadError::FieldName,
    }
}

/// Checks whole lines, of which there are `count`, for control characters: done once for a block, where vector
/// instructions pay. Each line is known to end with CRLF, so that a control character beyond these is one too many;
/// only then it matters which.
pub(crate) fn check_text(lines: &[u8], count: usize) -> Result<(), HeadError> {
    if syntax::count_controls(lines) == 2 * count {
        return Ok(());
    }
    let mut each = lines.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    each.try_for_each(check_line)
}

/// Checks a line without its CRLF for control characters.
pub(crate) fn check_line(line: &[u8]) -> Result<(), HeadError> {
    if syntax::is_field_content(line) { Ok(()) } else { Err(control_character(line)) }
}

/// Which control character of `bytes` is at fault.
pub(crate) fn control_character(bytes: &[u8]) -> HeadError {
    match bytes.iter().find(|&&b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        Some(b'\r') => HeadError::BareCr,
        Some(0) => HeadError::Nul,
        _ => HeadError::FieldValue,
    }
}

/// A CR or NUL in a start line says more than what is wrong with the line because of it.
pub(crate) fn line_error(line: &[u8], error: HeadError) -> HeadError {
    match control_character(line) {
        HeadError::FieldValue => error,
        control => control,
    }
}
