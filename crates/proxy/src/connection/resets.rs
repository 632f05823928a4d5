//! Counting streams that ended before their answer did.

use std::time::{Duration, Instant};

/// The span over which resets are counted.
const SPAN: Duration = Duration::from_secs(10);

/// Streams that the client reset, or made us reset, lately. A reset costs a client nothing and us a request
/// (CVE-2023-44487 rapid reset, CVE-2025-8671 MadeYouReset), so their number is bounded.
pub(super) struct Resets {
    limit: usize,
    since: Instant,
    count: usize,
}

impl Resets {
    pub(super) fn new(limit: usize) -> Resets {
        Resets { limit, since: Instant::now(), count: 0 }
    }

    pub(super) fn count(&mut self) {
        if self.since.elapsed() > SPAN {
            (self.since, self.count) = (Instant::now(), 0);
        }
        self.count += 1;
    }

    pub(super) fn exceeded(&self) -> bool {
        self.count > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_counted_in_a_span() {
        let mut resets = Resets::new(2);
        resets.count();
        resets.count();
        assert!(!resets.exceeded());
        resets.count();
        assert!(resets.exceeded());
        resets.since = Instant::now().checked_sub(SPAN * 2).unwrap();
        resets.count();
        assert!(!resets.exceeded());
    }
}
