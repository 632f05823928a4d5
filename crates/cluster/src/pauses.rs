//! [`Pauses`]: how long to wait after failures.

use crate::limits::LONGEST_PAUSE;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// Pauses after failures in a row: each about twice as long as the one before, with jitter, so that many who fail
/// together do not try again together.
pub(crate) struct Pauses {
    first: Duration,
    next: ExponentialBackoff,
}

impl Pauses {
    pub(crate) fn new(first: Duration) -> Self {
        let builder = ExponentialBuilder::default()
            .with_min_delay(first)
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times()
            .with_jitter();
        Self { first, next: builder.build() }
    }

    /// Waits after a failure.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next.next().unwrap_or(LONGEST_PAUSE)).await;
    }

    /// Something has worked.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.first);
    }
}
