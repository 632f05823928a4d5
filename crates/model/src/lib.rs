//! Portcullis: the `model` crate.
#![forbid(unsafe_code)]
