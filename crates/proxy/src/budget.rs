//! Memory and places that many requests want and all together may have only so many of.

use std::cell::Cell;
use std::rc::Rc;

/// What copies of requests' bodies may take, all of one worker's together.
pub(crate) struct Budget {
    left: Cell<usize>,
}

/// The part of one request. It is given back when this is dropped.
pub(crate) struct Share {
    budget: Rc<Budget>,
    held: usize,
}

impl Budget {
    /// A budget of this many bytes.
    pub(crate) fn new(bytes: usize) -> Rc<Budget> {
        Rc::new(Budget { left: Cell::new(bytes) })
    }
}

impl Share {
    /// Nothing yet.
    pub(crate) fn of(budget: &Rc<Budget>) -> Share {
        Share { budget: Rc::clone(budget), held: 0 }
    }

    /// How many bytes it has.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Takes more; false if there is no more.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let Some(left) = self.budget.left.get().checked_sub(bytes) else { return false };
        self.budget.left.set(left);
        self.held += bytes;
        true
    }

    /// Gives some back.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.held);
        self.held -= bytes;
        self.budget.left.set(self.budget.left.get() + bytes);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(self.held);
    }
}

/// How many may do something at the same time.
pub(crate) struct Places(Cell<usize>);

/// The right to be one of them, until this is dropped.
pub(crate) struct Taken(Rc<Places>);

impl Places {
    /// So many.
    pub(crate) fn new(places: usize) -> Rc<Places> {
        Rc::new(Places(Cell::new(places)))
    }

    /// A place, if one is free.
    pub(crate) fn take(self: &Rc<Places>) -> Option<Taken> {
        self.0.set(self.0.get().checked_sub(1)?);
        Some(Taken(Rc::clone(self)))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_holds_others_cannot_have_until_it_is_given_back() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (Share::of(&budget), Share::of(&budget));
        assert!(one.grow(7) && !other.grow(4) && other.grow(3));
        one.shrink(4);
        assert!(other.grow(4) && !other.grow(1));
        drop(other);
        assert!(one.grow(7));
        assert_eq!(one.held(), 10);
    }
}
