//! A request's place at a backend.

use std::rc::Rc;

use super::health::Rotation;
use super::pool::{LocalCluster, LocalTarget};
use crate::clock::Clock;

/// A request's place at a backend, and its endpoints in the order in which they are to be tried.
pub(crate) struct Taken {
    cluster: Rc<LocalCluster>,
    targets: Rc<[Rc<LocalTarget>]>,
    clock: Clock,
    /// Whose turn it is.
    index: usize,
    /// Those whose turn it was.
    tried: Vec<u64>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.cluster.requests.set(self.cluster.requests.get().saturating_sub(1));
    }
}

impl Taken {
    /// None only if there is no endpoint.
    pub(super) fn new(
        cluster: Rc<LocalCluster>,
        targets: Rc<[Rc<LocalTarget>]>,
        turn: usize,
        clock: &Clock,
    ) -> Option<Taken> {
        let index = Rotation { endpoints: &targets, clock }.at(turn)?;
        cluster.requests.set(cluster.requests.get() + 1);
        Some(Taken { cluster, targets, clock: clock.clone(), index, tried: Vec::new() })
    }

    /// The endpoint whose turn it is.
    pub(crate) fn endpoint(&self) -> Option<&Rc<LocalTarget>> {
        self.targets.get(self.index)
    }

    /// Gives the turn to the next endpoint that had none, if there is one, else to the next. One that is shut out is
    /// none, but where the one before could not be reached: to hope for it is better than to fail.
    pub(crate) fn next(&mut self, unreachable: bool) {
        self.tried.extend(self.endpoint().map(|endpoint| endpoint.target.id));
        self.index = self.after(unreachable);
    }

    fn after(&self, last_resort: bool) -> usize {
        let rotation = Rotation { endpoints: &self.targets, clock: &self.clock };
        rotation.after(self.index, |index| self.had_turn(index), last_resort)
    }

    fn had_turn(&self, index: usize) -> bool {
        self.targets.get(index).is_some_and(|endpoint| self.tried.contains(&endpoint.target.id))
    }

    /// Takes note of the endpoints that there are now.
    pub(super) fn refresh(&mut self, targets: &Rc<[Rc<LocalTarget>]>) {
        if Rc::ptr_eq(targets, &self.targets) {
            return;
        }
        let before = self.endpoint().cloned();
        let stays = before.and_then(|before| targets.iter().position(|one| Rc::ptr_eq(one, &before)));
        self.targets = Rc::clone(targets);
        self.index = stays.unwrap_or(self.index);
        if stays.is_none() || self.had_turn(self.index) {
            self.index = self.after(false);
        }
    }

    /// How many endpoints there are.
    pub(crate) fn endpoints(&self) -> usize {
        self.targets.len()
    }
}
