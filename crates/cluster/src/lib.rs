//! A Kubernetes cluster on both sides: its objects into the store, statuses and addresses back.
//!
//! Nothing here decides what an object means; watched objects take the same way as files do (admission, defaults,
//! decoding in `portcullis-api`).
//!
//! Read in this order: [`connect`] (the client), [`Batch`] (what a cluster says).
#![forbid(unsafe_code)]

mod batch;
mod connect;

pub use batch::{Batch, Held, Problem, Seen, Subject};
pub use connect::{Access, ConnectError, connect};
pub use kube::Client;
