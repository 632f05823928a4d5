//! Portcullis: the `store` crate.
#![forbid(unsafe_code)]
