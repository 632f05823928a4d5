//! Reading request heads of HTTP/1 (RFC 9112 §2 to §5).

use crate::error::HeadError;
use crate::fields::Span;
use crate::head::{RequestHead, Version};
use crate::limits::HeadLimits;
use crate::lines::{self, Lines};
use crate::method::Method;
use crate::syntax;
use crate::target::Target;
use crate::validate;

/// Reads request heads from input that grows, looking at each byte once however it is cut.
#[derive(Debug, Clone, Default)]
pub struct RequestParser {
    limits: HeadLimits,
    lines: Lines,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, Default)]
enum Stage {
    #[default]
    Start,
    /// One empty line was skipped.
    StartAfterEmptyLine,
    Fields,
}

impl RequestParser {
    /// A parser with these limits.
    #[must_use]
    pub fn new(limits: HeadLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Whether part of a head was seen: a client that then falls silent is slow, one before it is merely idle.
    #[must_use]
    pub fn in_head(&self) -> bool {
        !self.lines.is_fresh()
    }

    /// Reads on. `input` begins where the head begins and is the same in each call, but for what was appended.
    /// Returns how many bytes the head had once it is whole; `head` is valid then, and the parser ready for the
    /// next one. `Ok(None)` asks for more input.
    ///
    /// # Errors
    /// What is wrong with the head, as early as it is known.
    pub fn parse(&mut self, input: &[u8], head: &mut RequestHead) -> Result<Option<usize>, HeadError> {
        if self.lines.is_fresh() {
            head.clear();
        }
        let result = self.advance(input, head);
        if !matches!(result, Ok(None)) {
            *self = Self::new(self.limits);
        }
        result
    }

    fn advance(&mut self, input: &[u8], head: &mut RequestHead) -> Result<Option<usize>, HeadError> {
        let limit = self.limits.block_bytes();
        loop {
            let line = match (self.lines.next(input, limit), self.stage) {
                (Ok(Some(line)), _) => line,
                (Ok(None), _) => return Ok(None),
                (Err(HeadError::BlockTooLarge), Stage::Start | Stage::StartAfterEmptyLine) => {
                    return Err(HeadError::TargetTooLong);
                }
                (Err(error), _) => return Err(error),
            };
            match (line.is_empty(), self.stage) {
                (true, Stage::Start) => self.stage = Stage::StartAfterEmptyLine,
                (true, Stage::StartAfterEmptyLine) => return Err(HeadError::LeadingEmptyLines),
                (true, Stage::Fields) => break,
                (false, Stage::Fields) => lines::field(input, line, &mut head.fields, self.limits)?,
                (false, _) => {
                    request_line(input, line, head)
                        .map_err(|error| lines::line_error(line.of(input), error))?;
                    self.stage = Stage::Fields;
                }
            }
        }
        let consumed = self.lines.consumed();
        let text = input.get(..consumed).unwrap_or_default();
        lines::check_text(text, self.lines.count())?;
        head.fields.text.extend_from_slice(text);
        validate::http1(head)?;
        Ok(Some(consumed))
    }
}

/// `method SP request-target SP HTTP-version`, with single spaces (RFC 9112 §3; the laxer parsing that it permits
/// is how two parsers come to disagree).
fn request_line(input: &[u8], line: Span, head: &mut RequestHead) -> Result<(), HeadError> {
    let bytes = line.of(input);
    let method_len = syntax::token_len(bytes);
    let (method, rest) = bytes.split_at_checked(method_len).unwrap_or_default();
    let [b' ', rest @ ..] = rest else {
        return Err(if rest.is_empty() { HeadError::RequestLine } else { HeadError::Method });
    };
    if method.is_empty() {
        return Err(HeadError::Method);
    }
    let (target_len, version) = match rest.strip_suffix(b" HTTP/1.1") {
        Some(target) => (target.len(), Version::Http11),
        None => {
            let space = memchr::memrchr(b' ', rest).ok_or(HeadError::RequestLine)?;
            (space, version(rest.get(space + 1..).unwrap_or_default())?)
        }
    };
    if target_len == 0 {
        return Err(HeadError::RequestLine);
    }
    let start = line.start as usize;
    let target_at = start + method_len + 1;
    head.version = version;
    head.method = Method::from_bytes(method);
    head.method_name = Span::new(start, start + method_len);
    head.target = Target::parse(head.method, input, Span::new(target_at, target_at + target_len))?;
    Ok(())
}

/// RFC 9112 §2.3: `HTTP/` DIGIT `.` DIGIT, of which 1.0 and 1.1 are spoken.
pub(crate) fn version(bytes: &[u8]) -> Result<Version, HeadError> {
    match bytes {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(HeadError::UnsupportedVersion)
        }
        _ => Err(HeadError::Version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionField, write_request};

    /// The promise that a connection in its stride allocates nothing.
    #[test]
    fn memory_is_kept_from_request_to_request() {
        let input = b"GET http://b/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: 1\r\n\r\n";
        let (mut parser, mut head, mut out) = (RequestParser::default(), RequestHead::new(), Vec::new());
        let mut once = || {
            parser.parse(input, &mut head).unwrap().unwrap();
            head.strip_hop_by_hop();
            head.fields.set(b"x", b"2");
            out.clear();
            write_request(&mut out, &head, head.framing(), ConnectionField::Close, b"y: 3\r\n");
            let fields = &head.fields;
            (
                fields.text.as_ptr(),
                fields.text.capacity(),
                fields.entries.as_ptr(),
                out.as_ptr(),
                out.capacity(),
            )
        };
        let first = once();
        assert_eq!(once(), first);
    }
}
