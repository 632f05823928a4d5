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

    /// Whether the head being read has its request line already: a client that is past it and falls silent is slow,
    /// one that is not may just be idle.
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
                    request_line(input, line, head)?;
                    self.stage = Stage::Fields;
                }
            }
        }
        let consumed = self.lines.consumed();
        head.fields.text.extend_from_slice(input.get(..consumed).unwrap_or_default());
        validate::http1(head)?;
        Ok(Some(consumed))
    }
}

/// `method SP request-target SP HTTP-version`, with single spaces (RFC 9112 §3; the laxer parsing that it permits
/// is how two parsers come to disagree).
fn request_line(input: &[u8], line: Span, head: &mut RequestHead) -> Result<(), HeadError> {
    let bytes = line.of(input);
    if !syntax::is_field_content(bytes) {
        return Err(match lines::control_character(bytes) {
            HeadError::FieldValue => HeadError::RequestLine,
            error => error,
        });
    }
    let method_len = memchr::memchr(b' ', bytes).ok_or(HeadError::RequestLine)?;
    let version_at = memchr::memrchr(b' ', bytes).ok_or(HeadError::RequestLine)? + 1;
    let method = bytes.get(..method_len).unwrap_or_default();
    if !syntax::is_token(method) {
        return Err(HeadError::Method);
    }
    if version_at < method_len + 3 {
        return Err(HeadError::RequestLine);
    }
    head.version = version(bytes.get(version_at..).unwrap_or_default())?;
    head.method = Method::from_bytes(method);
    let start = line.start as usize;
    head.method_name = Span::new(start, start + method_len);
    let target = Span::new(start + method_len + 1, start + version_at - 1);
    head.target = Target::parse(head.method, input, target)?;
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
