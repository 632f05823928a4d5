//! Below HTTP: connections and datagrams are passed on as they are, to the backends of one route.
//!
//! [`tables`] has the routes of a port's listeners, [`choice`] who takes a connection and where it goes, and
//! [`connection`] passes it on. [`tls`] tells connections apart by the name in their [`client_hello`]; [`udp`]
//! is a world of its own.

mod choice;
mod client_hello;
mod connection;
mod tables;
mod tls;
pub(crate) mod udp;

pub use client_hello::{ClientHello, ClientHelloReader, NoClientHello};
pub(crate) use connection::serve;
pub(crate) use tables::{L4Listener, L4Port};
pub(crate) use tls::{Named, serve as serve_tls, server_name};
