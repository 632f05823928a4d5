//! A small HTTP/1.1 server for what Portcullis says about itself and for the backends of first tries. It is no
//! part of the data plane, which has its own.

mod connection;
mod message;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::exit::Failure;

pub(crate) use message::{Request, Response};

/// How long a client may be silent: longer than any backend pool keeps a connection.
const SILENCE: Duration = Duration::from_secs(75);
/// Bytes of a body that a request keeps; the rest is read and counted.
const BODY_KEPT: usize = 64 * 1024;
/// How long to wait when the system has no descriptor left for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// What answers requests.
pub(crate) trait Answer: Send + Sync + 'static {
    /// The answer to a request whose body was read to its end.
    fn answer(&self, request: Request) -> impl Future<Output = Response> + Send;
}

/// Takes an address.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "another process has it (`ss -ltnp` names it); choose another port",
            io::ErrorKind::AddrNotAvailable => "choose an address of this machine",
            io::ErrorKind::PermissionDenied => "ports under 1024 need privileges; choose a higher one",
            _ => "choose another address",
        };
        Failure::new(format!("cannot listen on {address}: {error}")).hint(hint)
    })
}

/// Answers whoever connects, until dropped.
pub(crate) async fn serve<A: Answer>(listener: TcpListener, answers: A) {
    let answers = Arc::new(answers);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, remote)) => {
                let answers = Arc::clone(&answers);
                connections.spawn(async move {
                    if let Err(error) = connection::converse(stream, remote, &*answers).await {
                        tracing::debug!(%remote, %error, "connection ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
