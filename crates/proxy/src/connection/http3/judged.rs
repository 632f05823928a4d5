//! What is read of a client's stream, for those who judge it: fuzz targets.

use std::rc::Rc;

use bytes::Bytes;
use portcullis_http1::{Fields, RequestHead};

use super::load::Load;
use super::receive::{Frames, Part};
use super::section;
use crate::limits::Limits;

/// A part of a request of HTTP/3.
#[derive(Debug, PartialEq, Eq)]
pub enum Http3Part {
    /// A field section, encoded: the first is the head, another the trailers.
    Fields(Vec<u8>),
    /// Some of the body.
    Data(Vec<u8>),
}

/// The parts of a request whose stream comes in pieces of this many bytes, up to where it breaks HTTP/3. Data that
/// nothing parts is one.
#[must_use]
pub fn http3_parts(stream: &[u8], piece: usize) -> Vec<Http3Part> {
    let limits = Limits::default();
    let load = Rc::new(Load::new(limits.h3_control_frames));
    let mut frames = Frames::new(section::largest(&limits), load);
    let mut parts: Vec<Http3Part> = Vec::new();
    for piece in stream.chunks(piece.max(1)) {
        let mut bytes = Bytes::copy_from_slice(piece);
        loop {
            match (frames.next(&mut bytes), parts.last_mut()) {
                (Ok(Some(Part::Data(more))), Some(Http3Part::Data(data))) => data.extend_from_slice(&more),
                (Ok(Some(Part::Data(data))), _) => parts.push(Http3Part::Data(data.into())),
                (Ok(Some(Part::Fields(section))), _) => parts.push(Http3Part::Fields(section)),
                (Ok(None), _) => break,
                (Err(_), _) => return parts,
            }
        }
    }
    parts
}

/// The head that a field section is, if it is valid. `ended` says that no body follows.
#[must_use]
pub fn http3_head(section: &[u8], ended: bool) -> Option<RequestHead> {
    let (mut head, limits) = (RequestHead::new(), Limits::default());
    section::read(&mut head, section, &limits).ok()?;
    section::finish(&mut head, ended, &limits).ok()?;
    Some(head)
}

/// The trailers that a field section is, if it is valid, without those that are not passed on.
#[must_use]
pub fn http3_trailers(section: &[u8]) -> Option<Fields> {
    section::read_trailers(section, &Limits::default()).ok()
}
