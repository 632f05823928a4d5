//! What is tried again.

use std::time::Duration;

/// What is tried again, and how often.
///
/// Source: HTTPRouteRetry, GEP-1731. Connections that cannot be made and requests that a backend refuses to process
/// are tried again in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The statuses of answers that are not taken for the last word, 400 to 599, whatever the method.
    pub codes: Vec<u16>,
    /// How often after the first try, at most.
    pub attempts: u32,
    /// The base of the pauses, which double from one to the next.
    pub backoff: Duration,
}

impl Retry {
    /// The base of the pauses where the rule names none: longer than most restarts of a connection take, and short
    /// enough not to be noticed.
    pub const DEFAULT_BACKOFF: Duration = Duration::from_millis(25);
    /// The longest pause, in bases.
    const LONGEST: u32 = 10;

    /// The pause before a further attempt, the first further one being number 0. `random` is any number: it makes
    /// the pause up to half as long again, so that those who failed together do not come back together.
    #[must_use]
    pub fn pause(&self, number: u32, random: u64) -> Duration {
        let longest = self.backoff.saturating_mul(Retry::LONGEST);
        let doubled = self.backoff.saturating_mul(2u32.saturating_pow(number)).min(longest);
        let thousandths = u32::try_from(random % 501).unwrap_or(0);
        doubled.saturating_add(doubled / 1000 * thousandths).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(backoff: u64, random: u64) -> Vec<u128> {
        let retry = Retry { codes: vec![], attempts: 9, backoff: Duration::from_millis(backoff) };
        (0..6).map(|number| retry.pause(number, random).as_millis()).collect()
    }

    /// HTTPRouteRetry.backoff: the base interval of an exponential strategy, with jitter and a maximum.
    #[test]
    fn pauses_double_up_to_ten_times_the_base() {
        assert_eq!(pauses(1000, 0), [1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert_eq!(pauses(1000, 500), [1500, 3000, 6000, 10_000, 10_000, 10_000]);
        assert_eq!(pauses(0, 500), [0; 6]);
        let retry = Retry { codes: vec![], attempts: 9, backoff: Duration::MAX };
        assert_eq!(retry.pause(u32::MAX, 3), Duration::MAX);
    }
}
