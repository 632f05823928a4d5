//! Portcullis: the `files` crate.
#![forbid(unsafe_code)]
