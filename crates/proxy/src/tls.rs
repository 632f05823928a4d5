//! TLS towards clients: the listener by server name, the certificate by what the client can verify, and sessions
//! that resume only where they began.

pub(crate) mod certificates;
pub(crate) mod config;
mod handshake;
mod sessions;

pub(crate) use handshake::accept;
pub(crate) use sessions::{Sessions, TlsPort};
