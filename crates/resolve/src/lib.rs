//! Portcullis: the `resolve` crate.
#![forbid(unsafe_code)]
