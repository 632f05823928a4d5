//! The tables against the specification: table cases by clause, and properties against an oracle.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy's allowance for tests does not reach the functions that tests share"
)]

mod agreement;
mod build;
mod calls;
mod generate;
mod hostnames;
mod incremental;
mod lookup_agrees;
mod oracle;
mod ports;
mod precedence;
mod predicates;
mod shadow;
mod trace;
