//! A Kubernetes cluster on both sides: its objects into the store, statuses and addresses back.
//!
//! Nothing here decides what an object means; watched objects take the same way as files do (admission, defaults,
//! decoding in `portcullis-api`).
//!
//! Read in this order: [`connect`] (the client), [`Feed`] and [`Batch`] (what a cluster says, whole and in order),
//! `mirror` (what is handed on when), `watch`, `discovery` and `reads` (what the API server is asked).
#![forbid(unsafe_code)]

mod batch;
mod connect;
mod discovery;
mod feed;
mod kinds;
mod limits;
mod mirror;
mod pauses;
mod raw;
mod reads;
mod signal;
mod watch;

pub use batch::{Batch, Held, Problem, Seen, Subject};
pub use connect::{Access, ConnectError, connect};
pub use feed::Feed;
pub use kube::Client;
