//! What tests with sockets share: the program under test, backends, certificates and clients.
//!
//! Everything talks over loopback, takes free ports, and ends with the value that started it.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

pub mod backend;
pub mod certificates;
pub mod files;
pub mod http;
pub mod manifests;
pub mod ports;
pub mod program;
pub mod transcript;
pub mod verdict;

pub use backend::Backend;
pub use certificates::Authority;
pub use program::Portcullis;
pub use verdict::Verdict;
