//! Signals, and the runtime that waits for them.

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;

/// The runtime of everything but the data plane, on the calling thread.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")).hint("raise the limit of open files"))
}

/// What the process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP.
    Hangup,
}

/// Signals that would end the process if they were not taken over.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Takes them over.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let take =
            |kind| signal(kind).map_err(|error| Failure::new(format!("cannot wait for signals: {error}")));
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
            hangup: take(SignalKind::hangup())?,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End,
            _ = self.interrupt.recv() => Told::End,
            _ = self.hangup.recv() => Told::Hangup,
        }
    }

    /// The next SIGTERM or SIGINT.
    pub(crate) async fn end(&mut self) {
        while self.next().await != Told::End {}
    }
}
