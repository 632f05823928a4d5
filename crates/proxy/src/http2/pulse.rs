//! Whether the other side of a connection lives, asked when it is silent.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use h2::{Ping, PingPong};

use crate::timer::Timer;

/// Asks after a time of silence, and waits for an answer.
pub(crate) struct Pulse {
    pings: PingPong,
    /// None of them is zero.
    silence: Duration,
    timeout: Duration,
    timer: Timer,
    /// It was asked, and has not answered.
    asked: bool,
}

impl Pulse {
    /// Without a time of silence nobody is asked.
    pub(crate) fn new(
        pings: Option<PingPong>,
        silence: Duration,
        timeout: Duration,
        timer: Timer,
    ) -> Option<Pulse> {
        let pings = pings.filter(|_| !silence.is_zero() && !timeout.is_zero())?;
        timer.set(silence);
        Some(Pulse { pings, silence, timeout, timer, asked: false })
    }

    /// Ready when the other side is dead. `silent` is for how long nothing has come that is owed; none if nothing is.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, silent: impl Fn() -> Option<Duration>) -> Poll<()> {
        loop {
            if self.asked && matches!(self.pings.poll_pong(cx), Poll::Ready(Ok(_))) {
                self.asked = false;
                self.timer.set(self.silence);
            }
            ready!(self.timer.poll_expired(cx));
            if self.asked {
                return Poll::Ready(());
            }
            let silent = silent().unwrap_or_default();
            if silent < self.silence {
                self.timer.set(self.silence.saturating_sub(silent));
            } else if self.pings.send_ping(Ping::opaque()).is_ok() {
                self.asked = true;
                self.timer.set(self.timeout);
            } else {
                return Poll::Ready(()); // the connection has ended
            }
        }
    }
}
