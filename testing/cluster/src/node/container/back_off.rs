//! The wait before a restart.

use std::time::Duration;

use crate::node::{
    limits::{FIRST_BACK_OFF, LONGEST_BACK_OFF, STEADY},
    state::Ended,
};

/// Doubles from restart to restart until a run was steady.
#[derive(Debug, Default)]
pub(crate) struct BackOff(Option<Duration>);

impl BackOff {
    /// The wait after a run; none after the first one, or after a steady one.
    pub(crate) fn next(&mut self, ended: &Ended) -> Duration {
        let ran = ended.finished.duration_since(ended.started).unsigned_abs();
        let wait = if ran >= STEADY { Duration::ZERO } else { self.0.unwrap_or_default() };
        self.0 = Some(if wait.is_zero() { FIRST_BACK_OFF } else { (wait * 2).min(LONGEST_BACK_OFF) });
        wait
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn ended(seconds: i64) -> Ended {
        Ended {
            code: 1,
            signal: None,
            reason: "Error",
            message: String::new(),
            started: Timestamp::UNIX_EPOCH,
            finished: Timestamp::from_second(seconds).unwrap(),
            id: String::new(),
        }
    }

    #[test]
    fn it_doubles_to_its_limit_and_starts_over_after_a_steady_run() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..9).map(|_| back_off.next(&ended(3)).as_secs()).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(back_off.next(&ended(600)).as_secs(), 0);
        assert_eq!(back_off.next(&ended(1)).as_secs(), 1);
    }
}
