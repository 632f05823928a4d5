//! How long to wait after a failure.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays after failures in a row: from 0.2 s, doubled each time up to 60 s, each with as much jitter again.
pub(crate) fn delays() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(60))
        .without_max_times()
        .with_jitter()
        .build()
}
