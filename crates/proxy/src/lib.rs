//! Portcullis: the `proxy` crate.
#![forbid(unsafe_code)]
