//! Files and folders into the store, and again when they change.
//!
//! YAML means what it means to kubectl, every finding has its file, line and column, and what cannot be read
//! keeps its last good version.
//!
//! Read in this order: [`load()`] (once) and [`watch()`] (from now on), `contents` (from a file's bytes to
//! objects), `yaml` (from text to nodes), `tree` (which files there are), `corpus` (what all of them say
//! together), `watch::follower` (when to read again), [`rules`] (what can be wrong).
#![forbid(unsafe_code)]

mod contents;
mod corpus;
mod io_words;
mod limits;
mod load;
mod positions;
mod reader;
pub mod rules;
mod sources;
mod tree;
mod watch;
mod yaml;

pub use io_words::io_words;
pub use load::{Loaded, load, read};
pub use sources::Sources;
pub use watch::{Update, Watcher, watch};
