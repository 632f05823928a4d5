//! Whose turn it is among endpoints.

use std::ops::Deref;

use super::{Health, Standing};
use crate::clock::Clock;

/// The golden section of 2^32: its multiples lie evenly.
const GOLDEN: usize = 0x9e37_79b9;

/// Endpoints of which each gets a turn in each round, if it is well.
pub(in crate::upstream) struct Rotation<'e, H> {
    pub(in crate::upstream) endpoints: &'e [H],
    pub(in crate::upstream) clock: &'e Clock,
}

impl<H: Deref<Target: AsRef<Health>>> Rotation<'_, H> {
    /// Whose turn this is, counted from the first; none only if there is no endpoint.
    pub(in crate::upstream) fn at(&self, turn: usize) -> Option<usize> {
        let index = turn.checked_rem(self.endpoints.len())?;
        if (**self.endpoints.get(index)?).as_ref().is_well() {
            return Some(index);
        }
        Some(self.detour(index, turn / self.endpoints.len()))
    }

    /// Who takes the turn of one that is shut out, or that gets no more than a part of its turns: the others one after
    /// the other, so that none of them has to do two endpoints' work.
    #[cold]
    fn detour(&self, index: usize, round: usize) -> usize {
        let (now, len) = (self.clock.now(), self.endpoints.len());
        if self.takes(index, round, now) {
            return index;
        }
        let open = || (0..len).filter(|other| *other != index && self.takes(*other, round, now));
        let is_in = |index: &usize| !self.is_ejected(*index, now);
        let nth = round.wrapping_add(index).checked_rem(open().count()).unwrap_or(0);
        // Where all are new, each takes its own turns.
        let taker = open().nth(nth).or_else(|| Some(index).filter(is_in));
        taker.or_else(|| (0..len).find(is_in)).unwrap_or(index)
    }

    /// Whether it takes its turn of this round.
    fn takes(&self, index: usize, round: usize, now: u64) -> bool {
        let Some(health) = self.endpoints.get(index).map(|one| (**one).as_ref()) else { return false };
        let place = (round.wrapping_mul(GOLDEN) & 0xffff_ffff) as u64;
        place < health.standing(now).share(now, health.policy.slow_start)
    }

    fn is_ejected(&self, index: usize, now: u64) -> bool {
        let standing = self.endpoints.get(index).map(|one| (**one).as_ref().standing(now));
        matches!(standing, Some(Standing::Ejected { .. }))
    }

    /// Who comes after one that has had its turn: one that had none and is not shut out; else, as a last resort, one
    /// that is shut out; else any that is not.
    pub(in crate::upstream) fn after(
        &self,
        index: usize,
        had_turn: impl Fn(usize) -> bool,
        last_resort: bool,
    ) -> usize {
        let (now, len) = (self.clock.now(), self.endpoints.len());
        let following = || (1..=len).map(|step| index.wrapping_add(step).checked_rem(len).unwrap_or(0));
        let is_in = |index: usize| !self.is_ejected(index, now);
        following()
            .find(|index| !had_turn(*index) && is_in(*index))
            .or_else(|| following().find(|index| last_resort && !had_turn(*index)))
            .or_else(|| following().find(|index| is_in(*index)))
            .or_else(|| following().next())
            .unwrap_or(index)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    use portcullis_model::EndpointAddress;
    use proptest::prelude::*;

    use super::super::Policy;
    use super::*;
    use crate::limits::Limits;

    fn healths(standings: &[Standing]) -> Vec<Arc<Health>> {
        let policy = Policy::new(&Limits::default());
        let address = EndpointAddress::Unix("x".into());
        standings.iter().map(|one| Arc::new(Health::new(&address, *one, policy, &Weak::new()))).collect()
    }

    /// How many turns each gets in these rounds.
    fn counted(standings: &[Standing], rounds: usize, clock: &Clock) -> Vec<usize> {
        let endpoints = healths(standings);
        let rotation = Rotation { endpoints: &endpoints, clock };
        let mut counts = vec![0; standings.len()];
        for turn in 0..rounds * standings.len() {
            counts[rotation.at(turn).unwrap()] += 1;
        }
        counts
    }

    const OUT: Standing = Standing::Ejected { until: 1 << 40 };

    proptest! {
        /// In words: those that are shut out get nothing, and the others share all turns evenly; where all are shut out,
        /// nobody is.
        #[test]
        fn those_that_are_left_share_evenly(out in prop::collection::vec(any::<bool>(), 1..9)) {
            let standings: Vec<Standing> =
                out.iter().map(|out| if *out { OUT } else { Standing::Well }).collect();
            let left = out.iter().filter(|out| !**out).count();
            let rounds = left.max(1) * 6;
            let each = (rounds * out.len()).checked_div(left).unwrap_or(rounds);
            let expected: Vec<usize> = out.iter().map(|out| if *out && left > 0 { 0 } else { each }).collect();
            prop_assert_eq!(counted(&standings, rounds, &Clock::manual()), expected);
        }

        /// In words: one that is new gets as much of a whole share as of its slow start has passed, a tenth at least,
        /// and what it leaves the others share.
        #[test]
        fn a_new_one_gets_the_part_of_its_share_that_has_passed(others in 1..6usize, passed in 0..10_000u64) {
            const ROUNDS: usize = 1000;
            let clock = Clock::manual();
            clock.advance(Duration::from_millis(passed));
            let mut standings = vec![Standing::Well; others];
            standings.push(Standing::Warming { since: 0 });
            let counts = counted(&standings, ROUNDS, &clock);
            let share = (passed as usize * ROUNDS / 10_000).max(ROUNDS / 10);
            prop_assert!(counts[others].abs_diff(share) <= 5, "{} is not {share}", counts[others]);
            let each = ROUNDS + (ROUNDS - share) / others;
            for count in &counts[..others] {
                prop_assert!(count.abs_diff(each) <= ROUNDS / 20, "{count} is not {each}");
            }
        }

        /// In words: next comes one that had no turn and is not shut out; if there is none, as a last resort one that is
        /// shut out; if there is none either, one that is not.
        #[test]
        fn who_had_no_turn_comes_next(
            given in prop::collection::vec((any::<bool>(), any::<bool>()), 1..7),
            at in any::<prop::sample::Index>(),
            last_resort in any::<bool>(),
        ) {
            let standings: Vec<Standing> =
                given.iter().map(|(out, _)| if *out { OUT } else { Standing::Well }).collect();
            let (endpoints, clock) = (healths(&standings), Clock::manual());
            let at = at.index(given.len());
            let had = |index: usize| given[index].1;
            let chosen = Rotation { endpoints: &endpoints, clock: &clock }.after(at, had, last_resort);
            let order: Vec<usize> = (1..=given.len()).map(|step| (at + step) % given.len()).collect();
            let wishes: [&dyn Fn(usize) -> bool; 4] = [
                &|index| !had(index) && !given[index].0,
                &|index| last_resort && !had(index),
                &|index| !given[index].0,
                &|_| true,
            ];
            let expected = wishes.iter().find_map(|wish| order.iter().find(|index| wish(**index)));
            prop_assert_eq!(Some(&chosen), expected);
        }
    }

    /// Where all are new, as after a deployment of everything, they are as good as old.
    #[test]
    fn where_all_are_new_they_share_evenly() {
        let standings = [Standing::Warming { since: 0 }; 3];
        let clock = Clock::manual();
        clock.advance(Duration::from_secs(3));
        assert_eq!(counted(&standings, 300, &clock), [300; 3]);
        let with_one_out = [Standing::Warming { since: 0 }, OUT];
        assert_eq!(counted(&with_one_out, 100, &clock), [200, 0]);
    }
}
