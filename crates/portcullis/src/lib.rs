//! The command line, and what connects the parts: files to the store, the store to resolution, resolution to
//! the proxy, and the proxy's reports back.
//!
//! [`cli`] lists the commands; each has a module of its name.
#![forbid(unsafe_code)]

mod address;
mod check;
mod cli;
mod completions;
mod control;
mod controller;
mod data_plane;
mod docs;
mod echo;
mod exit;
mod explain;
mod lint;
mod locality;
mod logs;
mod offline;
mod output;
mod render;
mod rules;
mod run;
mod server;
mod service_manager;
mod signals;
mod status;
mod statuses;
mod takeover;
mod values;
mod version;

pub use cli::main;
