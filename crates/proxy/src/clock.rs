//! The time by which endpoints are judged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// When the process looked at a clock first.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time by which endpoints are shut out, come back and are given more and more to do. Everything else goes by the
/// system's time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// One that stands still until it is [advanced](Clock::advance): for tests.
    #[must_use]
    pub fn manual() -> Clock {
        Clock(Some(Arc::default()))
    }

    /// Lets time pass on a [manual](Clock::manual) clock; nothing makes the system's go faster.
    pub fn advance(&self, by: Duration) {
        if let Some(millis) = &self.0 {
            millis.fetch_add(self::millis(by), Ordering::SeqCst);
        }
    }

    /// Milliseconds since some beginning.
    pub(crate) fn now(&self) -> u64 {
        match &self.0 {
            None => millis(START.elapsed()),
            Some(millis) => millis.load(Ordering::SeqCst),
        }
    }
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
