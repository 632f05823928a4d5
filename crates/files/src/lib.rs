//! Files and folders into the store, and again when they change.
#![forbid(unsafe_code)]

mod limits;
mod yaml;
