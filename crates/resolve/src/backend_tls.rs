//! BackendTLSPolicies: which one governs a backend, what it demands, and what is said about it.
//!
//! A policy that cannot be enforced still governs: its backend gets no traffic then, and never plain text.

mod ancestors;
mod meaning;
mod outcome;
mod room;
mod targets;

pub(crate) use outcome::{PolicyOutcome, refused_status};
pub(crate) use room::Unapplied;
pub(crate) use targets::BackendTls;
