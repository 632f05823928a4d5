//! HTTP/1 for a proxy, both directions, strict and without I/O; and the heads that all HTTP versions share.
//!
//! Bytes go in cut anywhere, and each is looked at once; text lies in one buffer per head, which is reused, so that
//! a connection in its stride allocates nothing. What cannot be framed unambiguously is an error, never repaired.
//!
//! Read in this order:
//! - [`RequestHead`], [`ResponseHead`] and their [`Fields`]; [`Known`] names cost one bit test
//! - [`RequestParser`] and [`ResponseParser`]; heads of HTTP/2 and 3 pass the same validation through
//!   [`RequestHead::start_multiplexed`] and [`RequestHead::finish_multiplexed`]
//! - [`Framing`], [`BodyDecoder`], [`ChunkDecoder`] and [`ChunkHead`]: where a body ends, reading and writing it
//! - [`ConnectionOptions`]: persistence, upgrades, hop-by-hop fields
//! - [`write_request`] and [`write_response`]
//! - [`HeadError`] and [`BodyError`]: what was wrong, the status to answer, and a name for metrics
#![forbid(unsafe_code)]

mod authority;
mod body;
mod chunked;
mod connection;
mod error;
mod fields;
mod framing;
mod head;
mod known;
mod limits;
mod lines;
mod method;
mod request;
mod response;
mod status;
mod syntax;
mod target;
mod trailers;
mod validate;
mod write;

pub use authority::Authority;
pub use body::BodyDecoder;
pub use chunked::decode::{ChunkDecoder, Piece};
pub use chunked::encode::{CHUNK_END, ChunkHead, LAST_CHUNK, write_chunk, write_last_chunk};
pub use connection::ConnectionOptions;
pub use error::{BodyError, HeadError};
pub use fields::Fields;
pub use framing::Framing;
pub use head::{RequestHead, ResponseHead, Version};
pub use known::{Known, KnownSet};
pub use limits::{ChunkLimits, HeadLimits};
pub use method::Method;
pub use request::RequestParser;
pub use response::{Exchange, ResponseParser};
pub use status::reason_phrase;
pub use target::{Scheme, TargetForm};
pub use trailers::is_forbidden_trailer;
pub use validate::{PseudoFields, check_multiplexed_field};
pub use write::{ConnectionField, write_continue, write_request, write_response};
