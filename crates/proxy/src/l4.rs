//! Below HTTP: connections are passed on as they are, to the backends of one route.
//!
//! [`tables`] has the routes of a port's listeners, [`choice`] who takes a connection and where it goes, and
//! [`connection`] passes it on.

mod choice;
mod connection;
mod tables;

pub(crate) use connection::serve;
pub(crate) use tables::{L4Listener, L4Port};
