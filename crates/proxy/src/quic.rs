//! QUIC: a socket and an endpoint for each worker and port that serves HTTP/3.
//!
//! The kernel chooses a worker by both addresses of a datagram, so a client whose address changes reaches another one.
//! Each connection ID that we issue carries the number of the worker that has the connection, and a datagram that
//! came to another is handed over: [`connection_id`] (the number), [`socket`] (handing over), [`crypto`] (whose
//! settings a handshake has), [`endpoint`] (from datagrams to connections).

mod connection_id;
mod crypto;
mod endpoint;
mod socket;

pub(crate) use connection_id::Key;
pub(crate) use endpoint::{Handshake, Place, serve};
pub(crate) use socket::Handover;
