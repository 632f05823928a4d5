//! Resolution: from a store of objects and reports to what is served and what is said about it.
//!
//! Pure: no I/O, no clock, no async. The same store always gives the same [`Resolved`], and
//! [`Resolver::update`] gives what [`resolve`] would give afresh (checked by `tests/resolution/incremental.rs`).
//!
//! Read in this order: `resolver` (what is asked), `gateway_classes` and `gateways` (what is ours),
//! `listeners` and `listener_sets` (which listeners live), `attachment` (which routes they take),
//! `routes` with `http_routes`, `grpc_routes` and `l4_routes` (what a route means), `backends` (where it leads), `grants`, `certificates` and
//! `tls_options`. What can be wrong is one table, `causes`. How work is saved is `memo`'s business.
#![forbid(unsafe_code)]

mod age;
mod attachment;
mod authorities;
mod backend_tls;
mod backends;
mod causes;
mod certificates;
mod client_validation;
mod engine;
mod finding;
mod gateway_classes;
mod gateways;
mod grants;
mod grpc_routes;
mod http_routes;
mod l4_routes;
mod listener_sets;
mod listeners;
mod memo;
mod namespaces;
mod origin;
mod outcome;
mod refused;
mod resolver;
mod routes;
mod tls_options;
mod view;

pub use causes::{CAUSES, Cause};
pub use engine::{Capabilities, Engine, NATIVE_CONTROLLER, Source};
pub use listeners::Protocol;
pub use outcome::Status;
pub use resolver::{Changed, Resolved, Resolver, resolve};
