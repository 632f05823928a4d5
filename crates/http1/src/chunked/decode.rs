//! Reading chunks, strictly: a size is hexadecimal digits and nothing else, lines and data end with CRLF,
//! extensions are bounded and dropped (RFC 9112 §7.1).

use crate::error::BodyError;
use crate::fields::Fields;
use crate::limits::ChunkLimits;
use crate::trailers::TrailerParser;

/// What a decoder found next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Body data, where it lies in the input.
    Data(&'a [u8]),
    /// The input is used up and the body goes on.
    More,
    /// The body is over.
    End,
}

/// Reads a chunked body from input cut anywhere.
#[derive(Debug, Clone, Default)]
pub struct ChunkDecoder {
    limits: ChunkLimits,
    state: State,
    /// The size being read; then the data bytes still to come.
    remaining: u64,
    /// Bytes of extensions so far in this chunk's line, and in the body.
    extensions: usize,
    total_extensions: usize,
    trailers: TrailerParser,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the size, after this many digits.
    Size(u8),
    /// After white space that an extension must follow (`BWS`).
    BeforeExtension,
    Extension,
    LineLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
    End,
}

impl Default for State {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl ChunkDecoder {
    /// A decoder with these limits.
    #[must_use]
    pub fn new(limits: ChunkLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Makes ready for another body and keeps the memory.
    pub fn reset(&mut self) {
        self.state = State::default();
        self.remaining = 0;
        self.extensions = 0;
        self.total_extensions = 0;
        self.trailers.clear();
    }

    /// The next piece, and how many bytes of `input` were used up to its end. Bytes after [`Piece::End`] belong to
    /// the next message.
    ///
    /// # Errors
    /// What is wrong with the framing; the connection must be closed.
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Piece<'a>), BodyError> {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            match (self.state, rest) {
                (State::End, _) => return Ok((used, Piece::End)),
                (_, []) => return Ok((used, Piece::More)),
                (State::Trailers, _) => {
                    let taken = self.trailers.take(rest, self.limits.trailers).map_err(BodyError::Trailer)?;
                    used += taken.0;
                    if taken.1 {
                        self.state = State::End;
                    }
                }
                (State::Data, _) => {
                    let len = usize::try_from(self.remaining).map_or(rest.len(), |r| r.min(rest.len()));
                    self.remaining -= len as u64;
                    if self.remaining == 0 {
                        self.state = State::DataCr;
                    }
                    return Ok((used + len, Piece::Data(rest.get(..len).unwrap_or_default())));
                }
                (state, [byte, ..]) => {
                    self.state = self.step(state, *byte)?;
                    used += 1;
                }
            }
        }
    }

    /// Whether the body was read to its end.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.state == State::End
    }

    /// The trailers, once the body has ended. Those that may not be trailers are not among them.
    #[must_use]
    pub fn trailers(&self) -> &Fields {
        self.trailers.fields()
    }

    /// The state after `byte` of a chunk's framing.
    fn step(&mut self, state: State, byte: u8) -> Result<State, BodyError> {
        match (state, byte) {
            (State::Size(digits), _) if byte.is_ascii_hexdigit() => self.size_digit(digits, byte),
            (State::Size(1..), b'\r') | (State::Extension, b'\r') => Ok(State::LineLf),
            (State::Size(1..) | State::BeforeExtension, b';') => self.extension_byte(State::Extension),
            (State::Size(1..) | State::BeforeExtension, b' ' | b'\t') => {
                self.extension_byte(State::BeforeExtension)
            }
            (State::Size(_) | State::BeforeExtension, _) => Err(BodyError::ChunkSize),
            (State::Extension, b'\t' | 0x20..=0x7e | 0x80..) => self.extension_byte(State::Extension),
            (State::Extension, _) => Err(BodyError::ChunkExtension),
            (State::LineLf, b'\n') => Ok(self.after_line()),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size(0)),
            _ => Err(BodyError::ChunkEnd),
        }
    }

    fn size_digit(&mut self, digits: u8, byte: u8) -> Result<State, BodyError> {
        if digits >= ChunkLimits::SIZE_DIGITS {
            return Err(BodyError::ChunkSizeOverflow);
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => byte - b'A' + 10,
        };
        self.remaining = if digits == 0 { 0 } else { self.remaining << 4 } | u64::from(digit);
        Ok(State::Size(digits + 1))
    }

    fn extension_byte(&mut self, next: State) -> Result<State, BodyError> {
        self.extensions += 1;
        self.total_extensions += 1;
        if self.extensions > self.limits.extensions || self.total_extensions > self.limits.total_extensions {
            return Err(BodyError::ChunkExtensionsTooLarge);
        }
        Ok(next)
    }

    fn after_line(&mut self) -> State {
        self.extensions = 0;
        if self.remaining == 0 { State::Trailers } else { State::Data }
    }
}
