//! Reading a body of any framing.

use crate::chunked::decode::{ChunkDecoder, Piece};
use crate::error::BodyError;
use crate::fields::Fields;
use crate::framing::Framing;
use crate::limits::ChunkLimits;

/// Reads the body of one message after the other; memory for trailers is kept.
#[derive(Debug, Clone, Default)]
pub struct BodyDecoder {
    state: State,
    chunks: ChunkDecoder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bytes still to come; 0 is the end.
    Length(u64),
    Chunked,
    UntilClose,
}

impl Default for State {
    fn default() -> Self {
        Self::Length(0)
    }
}

impl BodyDecoder {
    /// A decoder with these limits, at the end of an empty body.
    #[must_use]
    pub fn new(limits: ChunkLimits) -> Self {
        Self { state: State::default(), chunks: ChunkDecoder::new(limits) }
    }

    /// Begins a body. That of [`Framing::Tunnel`] is empty: what follows is not HTTP.
    pub fn start(&mut self, framing: Framing) {
        self.chunks.reset();
        self.state = match framing {
            Framing::None | Framing::Tunnel => State::Length(0),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked,
            Framing::UntilClose => State::UntilClose,
        };
    }

    /// The next piece, and how many bytes of `input` were used up to its end; see [`ChunkDecoder::decode`].
    ///
    /// # Errors
    /// What is wrong with the framing; the connection must be closed.
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Piece<'a>), BodyError> {
        match &mut self.state {
            State::Chunked => self.chunks.decode(input),
            State::Length(0) => Ok((0, Piece::End)),
            _ if input.is_empty() => Ok((0, Piece::More)),
            State::UntilClose => Ok((input.len(), Piece::Data(input))),
            State::Length(left) => {
                let len = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= len as u64;
                Ok((len, Piece::Data(input.get(..len).unwrap_or_default())))
            }
        }
    }

    /// Whether the body was read to its end; a body that ends with its connection never is.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        match self.state {
            State::Length(left) => left == 0,
            State::Chunked => self.chunks.is_ended(),
            State::UntilClose => false,
        }
    }

    /// How many bytes are still to come, where that is known.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        match self.state {
            State::Length(left) => Some(left),
            State::Chunked if self.chunks.is_ended() => Some(0),
            State::Chunked | State::UntilClose => None,
        }
    }

    /// The connection ended.
    ///
    /// # Errors
    /// [`BodyError::Incomplete`] unless the body is whole, or ends so (RFC 9112 §8).
    pub fn close(&mut self) -> Result<(), BodyError> {
        if self.state == State::UntilClose {
            self.state = State::Length(0);
        }
        if self.is_ended() { Ok(()) } else { Err(BodyError::Incomplete) }
    }

    /// The trailers, once a chunked body has ended.
    #[must_use]
    pub fn trailers(&self) -> &Fields {
        self.chunks.trailers()
    }
}
