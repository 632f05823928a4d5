//! What a feed makes of an API server, against one in memory that has the faults that are asked for.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod consistency;
mod fake;
mod faults;
mod guard;
mod kinds;
mod objects;
mod secrets;
mod watcher;
