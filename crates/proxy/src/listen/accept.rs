//! Accepting connections: until the port leaves the configuration, and then what is still queued.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::OpenPort;
use crate::connection;
use crate::reason::Reason;
use crate::shared::Shared;
use crate::worker::Worker;

/// Accepts at one socket until `closing` says so.
pub(crate) async fn accept(
    worker: Rc<Worker>,
    listener: TcpListener,
    port: Arc<OpenPort>,
    mut closing: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => start(&worker, stream, peer, &port),
            Err(error) => after_error(&worker, &error).await,
        }
    }
    if let Err(error) = empty_queue(&worker, listener, &port) {
        tracing::warn!(address = %port.local, %error, "a closing port's queue could not be emptied");
    }
}

fn start(worker: &Rc<Worker>, stream: TcpStream, peer: SocketAddr, port: &Arc<OpenPort>) {
    let Some(slot) = port.admit(worker.shared.options.limits.connections_per_port) else {
        worker.metrics.refused(Reason::ConnectionLimit);
        return;
    };
    let (worker, port) = (Rc::clone(worker), Arc::clone(port));
    tokio::task::spawn_local(async move {
        let _slot = slot;
        let _open = worker.open_connection();
        connection::serve(&worker, stream, peer, &port).await;
    });
}

/// A connection that ended before it was accepted is nothing; for want of descriptors or memory, trying again at
/// once would only spin.
async fn after_error(worker: &Rc<Worker>, error: &io::Error) {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    if matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) {
        worker.metrics.refused(Reason::OutOfDescriptors);
        if worker.shared.scarcity.begins(Instant::now()) {
            tracing::warn!(%error, "accepting pauses");
            tokio::task::spawn_local(tell_the_end(Rc::clone(worker)));
        }
        tokio::time::sleep(worker.shared.options.limits.accept_pause).await;
    }
}

/// Waits until accepting pauses no more.
async fn tell_the_end(worker: Rc<Worker>) {
    let Shared { scarcity, options, .. } = &*worker.shared;
    loop {
        match scarcity.ended(Instant::now(), options.limits.accept_pause) {
            Err(later) => tokio::time::sleep_until(later.into()).await,
            Ok(spell) => {
                let (pauses, lasted) =
                    spell.map_or_else(Default::default, |spell| (spell.pauses, spell.lasted()));
                return tracing::info!(pauses, ?lasted, "accepting goes on");
            }
        }
    }
}

/// Serves what the kernel has completed already: those clients believe to be connected.
fn empty_queue(worker: &Rc<Worker>, listener: TcpListener, port: &Arc<OpenPort>) -> io::Result<()> {
    let listener = listener.into_std()?;
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                stream.set_nonblocking(true)?;
                start(worker, TcpStream::from_std(stream)?, peer, port);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
