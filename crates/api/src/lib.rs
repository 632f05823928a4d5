//! Portcullis: the `api` crate.
#![forbid(unsafe_code)]
