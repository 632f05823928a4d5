//! TLS towards clients: the listener by server name, the certificate by what the client can verify, and sessions
//! that resume only where they began. A guarded listener lets in whom its authorities vouch for.

mod admission;
mod certificates;
mod clients;
pub(crate) mod config;
mod forwarded;
mod handshake;
pub(crate) mod schemes;
mod sessions;

pub(crate) use admission::Admission;
pub(crate) use config::TlsListener;
pub(crate) use handshake::{Chosen, accept, choose};
pub(crate) use sessions::{Sessions, TlsPort};
