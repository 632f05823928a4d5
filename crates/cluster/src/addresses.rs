//! Where Gateways are reached: addresses of a pool, of the node, or of a Service in front of it.
//!
//! [`Allotment`] gives each Gateway an address of its own from a [`Pool`], and is pure; [`follow_published`] tells
//! what a Service's status says. Both answer with reports for the store.

mod allotment;
mod node;
mod pool;
mod published;

pub use allotment::{Allotment, shown};
pub(crate) use allotment::{differences, is_ours};
pub use node::node_addresses;
pub use pool::Pool;
pub use published::follow_published;
