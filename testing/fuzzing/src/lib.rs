//! What each fuzz target does with its input: it panics where a promise is broken.
//!
//! `fuzz/` has a program for each of [`TARGETS`], which `cargo xtask fuzz` runs on the compiler that coverage needs.
//! Here an ordinary test gives each the corpus that it has in `fuzz/corpora`, so that what was once found stays found.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a target fails by panicking"
)]

mod chunks;
mod client_hello;
mod edits;
mod flows;
mod heads;
mod http3;
mod multiplexed;
mod resolve;
mod routing;
mod yaml;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its program in `fuzz/fuzz_targets`, and of its folder in `fuzz/corpora`.
    pub name: &'static str,
    /// What it does with an input.
    pub body: fn(&[u8]),
}

/// Every fuzz target.
pub const TARGETS: [Target; 10] = [
    Target { name: "chunks", body: chunks::run },
    Target { name: "client_hello", body: client_hello::run },
    Target { name: "edits", body: edits::run },
    Target { name: "flows", body: flows::run },
    Target { name: "heads", body: heads::run },
    Target { name: "http3", body: http3::run },
    Target { name: "multiplexed", body: multiplexed::run },
    Target { name: "resolve", body: resolve::run },
    Target { name: "routing", body: routing::run },
    Target { name: "yaml", body: yaml::run },
];

/// Gives an input to the target of this name.
///
/// # Panics
/// Where a promise is broken, and where there is no such target.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    (target.body)(input);
}
