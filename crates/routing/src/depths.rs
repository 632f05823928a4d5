//! How deep the keys of a table are, so that a lookup tries no depth that none has.

use smallvec::SmallVec;

/// The number of keys of each depth: elements of a path, labels of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depths(SmallVec<[u32; 8]>);

impl Depths {
    pub(crate) fn add(&mut self, depth: usize) {
        if self.0.len() <= depth {
            self.0.resize(depth + 1, 0);
        }
        if let Some(count) = self.0.get_mut(depth) {
            *count += 1;
        }
    }

    pub(crate) fn remove(&mut self, depth: usize) {
        if let Some(count) = self.0.get_mut(depth) {
            *count = count.saturating_sub(1);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub(crate) fn has(&self, depth: usize) -> bool {
        self.0.get(depth).is_some_and(|count| *count > 0)
    }

    /// The greatest depth that some key has.
    pub(crate) fn deepest(&self) -> Option<usize> {
        self.0.len().checked_sub(1)
    }
}
