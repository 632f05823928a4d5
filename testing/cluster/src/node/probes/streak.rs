//! From single answers to verdicts.

/// How many answers of one kind have come in a row, and how many make a verdict.
#[derive(Debug)]
pub(crate) struct Streak {
    successes: u32,
    failures: u32,
    last: Option<bool>,
    length: u32,
}

impl Streak {
    /// `successes` and `failures` in a row make a verdict (`Probe.successThreshold`, `.failureThreshold`).
    pub(crate) fn new(successes: u32, failures: u32) -> Self {
        Self { successes: successes.max(1), failures: failures.max(1), last: None, length: 0 }
    }

    /// Counts an answer; true when with it there are just enough for a verdict.
    pub(crate) fn record(&mut self, success: bool) -> bool {
        self.length = if self.last == Some(success) { self.length.saturating_add(1) } else { 1 };
        self.last = Some(success);
        self.length == if success { self.successes } else { self.failures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enough_answers_in_a_row_make_a_verdict_and_once() {
        let mut streak = Streak::new(1, 3);
        let answers = [false, false, true, true, false, false, false, false, true];
        let verdicts = answers.map(|answer| streak.record(answer));
        assert_eq!(verdicts, [false, false, true, false, false, false, true, false, true]);
        let mut slow = Streak::new(2, 1);
        assert_eq!([true, false, true, true].map(|answer| slow.record(answer)), [false, true, false, true]);
    }
}
