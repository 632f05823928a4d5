//! Routing: from the model's hosts and rules to tables that find a request's rule.
//!
//! Pure: no I/O, no clock, no async. A table is immutable and shared; [`PortTable::update`] makes its successor
//! at a cost that grows with what changed, and equal to [`PortTable::build`] (checked by
//! `tests/it/incremental.rs`). A lookup allocates nothing, clones nothing, and answers what an obviously right
//! oracle answers (checked by `tests/it/lookup_agrees.rs`).
//!
//! Read in this order: [`Authority`] and [`canonical_path`] (what a request asks for), [`PortTable`] (which
//! listener takes it), [`ListenerTable`] (which rule), [`Traced`] (and why not the others), [`L4Table`] (below HTTP), [`shadowed`] (which
//! rules no request can reach).
#![forbid(unsafe_code)]

mod authority;
mod calls;
mod candidate;
mod depths;
mod hosts;
mod keyed;
mod l4;
mod leaf;
mod listener;
mod paths;
mod patterns;
mod port;
mod precedence;
mod predicates;
mod prefilter;
mod preflight;
mod query;
mod request;
mod shadow;
mod sharded;
mod table;
mod trace;

pub use authority::{Authority, AuthorityError};
pub use candidate::Entry;
pub use l4::{L4Entry, L4Table};
pub use listener::{ListenerTable, Matched};
pub use port::{Misdirected, PortTable, Scheme};
pub use portcullis_model::{PathError, canonical_path};
pub use precedence::Criterion;
pub use predicates::Mismatch;
pub use preflight::Preflight;
pub use query::decoded;
pub use request::{HeaderSource, Request, is_grpc};
pub use shadow::{Shadowed, shadowed};
pub use trace::{Traced, Tried, Verdict};
