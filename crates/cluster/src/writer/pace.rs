//! How long to wait after a failure.

use std::time::Duration;

use backon::ExponentialBackoff;

use crate::pauses::row;

/// Delays after failures in a row: from 0.2 s, doubled each time up to 60 s, each with as much jitter again.
pub(crate) fn delays() -> ExponentialBackoff {
    row(Duration::from_millis(200), Duration::from_secs(60))
}
