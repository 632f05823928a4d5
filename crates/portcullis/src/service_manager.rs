//! What a service manager gives and is told: listening sockets (sd_listen_fds(3)) and the service's state
//! (sd_notify(3)). Without one, nothing happens.

use std::os::fd::OwnedFd;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::exit::Failure;

/// The sockets that the service manager opened for this process.
pub(crate) fn sockets() -> Result<Vec<OwnedFd>, Failure> {
    let mut given = ListenFd::from_env();
    let sockets = (0..given.len()).map(|index| match given.take_tcp_listener(index) {
        Ok(listener) => Ok(listener.map(OwnedFd::from)),
        Err(_) => given.take_udp_socket(index).map(|socket| socket.map(OwnedFd::from)),
    });
    let sockets = sockets.collect::<Result<Vec<_>, _>>().map_err(|error| {
        Failure::new(format!("the service manager gave a socket that is neither of TCP nor of UDP: {error}"))
            .hint("a .socket unit for Portcullis has ListenStream= and ListenDatagram= with addresses and ports only")
    })?;
    Ok(sockets.into_iter().flatten().collect())
}

/// Says that this process serves, and that it is the service's main process, which it is not yet after a takeover.
pub(crate) fn serving() {
    tell(&[NotifyState::MainPid(std::process::id()), NotifyState::Ready]);
}

/// Says that this process ends.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
