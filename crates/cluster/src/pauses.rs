//! [`Pauses`]: how long to wait after failures.

use crate::limits::{LONGEST_PAUSE, LONGEST_PAUSE_UNREACHED};
use crate::signal::Failure;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// Pauses after failures in a row: each about twice as long as the one before, with jitter, so that many who fail
/// together do not try again together.
pub(crate) struct Pauses {
    first: Duration,
    answered: ExponentialBackoff,
    unreached: ExponentialBackoff,
}

impl Pauses {
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, answered: row(first, LONGEST_PAUSE), unreached: row(first, LONGEST_PAUSE_UNREACHED) }
    }

    /// Waits after something that did not come to its end.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.answered.next().unwrap_or(LONGEST_PAUSE)).await;
    }

    /// Waits after a failure. The first that is answered after an outage ends its row: an API server that has just
    /// started is not ready at once, but soon.
    pub(crate) async fn pause_after(&mut self, failure: &Failure) {
        if failure.code.is_some() {
            return self.pause().await;
        }
        self.answered = row(self.first, LONGEST_PAUSE);
        tokio::time::sleep(self.unreached.next().unwrap_or(LONGEST_PAUSE_UNREACHED)).await;
    }

    /// Something has worked.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.first);
    }
}

/// Pauses after failures in a row: each twice as long as the one before, with as much jitter again.
pub(crate) fn row(first: Duration, longest: Duration) -> ExponentialBackoff {
    let builder = ExponentialBuilder::default().with_min_delay(first).with_max_delay(longest);
    builder.without_max_times().with_jitter().build()
}
