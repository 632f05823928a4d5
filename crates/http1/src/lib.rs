//! Portcullis: the `http1` crate.
#![forbid(unsafe_code)]
