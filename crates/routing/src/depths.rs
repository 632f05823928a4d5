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

#[cfg(test)]
mod tests {
    use super::*;

    /// A depth that no key has any more is not tried again.
    #[test]
    fn depths_are_known_while_some_key_has_them() {
        let mut depths = Depths::default();
        assert_eq!((depths.deepest(), depths.has(0)), (None, false));
        for depth in [2, 2, 5] {
            depths.add(depth);
        }
        assert_eq!([0, 2, 4, 5, 6].map(|depth| depths.has(depth)), [false, true, false, true, false]);
        assert_eq!(depths.deepest(), Some(5));
        depths.remove(5);
        assert_eq!((depths.deepest(), depths.has(5)), (Some(2), false));
        depths.remove(2);
        assert_eq!((depths.deepest(), depths.has(2)), (Some(2), true));
        depths.remove(2);
        assert_eq!((depths.deepest(), depths.has(2)), (None, false));
        depths.remove(7);
        assert_eq!(depths.deepest(), None);
    }
}
