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
    /// SIGHUP or SIGUSR1, which both stand for "take up changes" in log rotation and service managers.
    Reload,
}

/// Signals that would end the process if they were not taken over.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    user: Signal,
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
            user: take(SignalKind::user_defined1())?,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End,
            _ = self.interrupt.recv() => Told::End,
            _ = self.hangup.recv() => Told::Reload,
            _ = self.user.recv() => Told::Reload,
        }
    }

    /// The next SIGTERM or SIGINT.
    pub(crate) async fn end(&mut self) {
        while self.next().await != Told::End {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log rotation sends one or the other; neither may end the process.
    #[test]
    fn hangup_and_the_first_user_signal_ask_to_reload() {
        runtime().unwrap().block_on(async {
            let mut signals = Signals::listen().unwrap();
            for name in ["HUP", "USR1"] {
                let script = format!("kill -{name} $PPID");
                assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
                assert_eq!(signals.next().await, Told::Reload);
            }
        });
    }
}
