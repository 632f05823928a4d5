//! A Kubernetes cluster on both sides: its objects into the store, statuses and addresses back.
//!
//! Nothing here decides what an object means; watched objects take the same way as files do (admission, defaults,
//! decoding in `portcullis-api`).
//!
//! Read in this order: [`connect()`] (the client), [`Feed`] and [`Batch`] (what a cluster says, whole and in order),
//! `mirror` (what is handed on when), `watch`, `discovery` and `reads` (what the API server is asked).
//!
//! The way back: `statuses` (what is written beside what others have written), [`StatusWriter`] (when),
//! [`addresses`] (where Gateways are reached), [`ServiceWriter`] (by which name), [`Election`] (who writes).
//!
//! Beside both: [`zone_of()`] (where we run).
#![forbid(unsafe_code)]

pub mod addresses;
mod age;
mod batch;
mod connect;
mod discovery;
mod feed;
mod kinds;
mod leases;
mod limits;
#[cfg(test)]
mod manifests;
mod mirror;
#[cfg(test)]
mod mock;
mod node;
mod pauses;
mod raw;
mod reads;
mod requests;
mod services;
mod signal;
mod statuses;
mod watch;
mod writer;

pub use batch::{Batch, Held, Problem, Seen, Subject};
pub use connect::{Access, ConnectError, connect};
pub use feed::Feed;
pub use kube::Client;
pub use leases::{Candidate, Election};
pub use node::zone_of;
pub use services::{InCluster, ServiceWriter};
pub use writer::{FIELD_MANAGER, StatusWriter, WriteCounts};
