//! Portcullis: the `routing` crate.
#![forbid(unsafe_code)]
