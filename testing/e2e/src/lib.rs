//! Tests that need sockets, and what they share.
#![forbid(unsafe_code)]
