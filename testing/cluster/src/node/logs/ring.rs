//! The last lines of one run's output.

use std::collections::VecDeque;

use bytes::Bytes;
use jiff::Timestamp;

use crate::node::limits::LOG_BYTES;

/// One line, with its line feed where it had one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: Bytes,
}

/// Lines in the order they came; each has a number, and the oldest are forgotten.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    lines: VecDeque<Line>,
    bytes: usize,
    forgotten: usize,
    ended: bool,
}

impl Ring {
    pub(crate) fn push(&mut self, line: Line) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.bytes > LOG_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.text.len();
            self.forgotten += 1;
        }
    }

    /// No more lines will come.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The lines that are kept.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> + ExactSizeIterator {
        self.lines.iter()
    }

    /// The lines from a number on.
    pub(crate) fn from(&self, number: usize) -> impl Iterator<Item = &Line> {
        self.lines.iter().skip(number.saturating_sub(self.forgotten))
    }

    /// The number of the next line.
    pub(crate) fn next_number(&self) -> usize {
        self.forgotten + self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: String) -> Line {
        Line { at: Timestamp::UNIX_EPOCH, text: Bytes::from(text) }
    }

    #[test]
    fn the_oldest_lines_go_first_and_numbers_stay() {
        let mut ring = Ring::default();
        for letter in ["a", "b", "c"] {
            ring.push(line(letter.repeat(LOG_BYTES / 2)));
        }
        let first: Vec<u8> = ring.lines().map(|line| line.text[0]).collect();
        assert_eq!(first, b"bc");
        assert_eq!(ring.next_number(), 3);
        let from = |number| ring.from(number).map(|line| line.text[0]).collect::<Vec<u8>>();
        assert_eq!(from(0), b"bc");
        assert_eq!(from(2), b"c");
        assert_eq!(from(3), b"");
    }
}
