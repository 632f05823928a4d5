//! The chunked transfer coding (RFC 9112 §7.1): [`decode`] yields the data where it lies, [`encode`] frames data
//! without touching it.

pub(crate) mod decode;
pub(crate) mod encode;
