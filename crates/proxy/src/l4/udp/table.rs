//! Which clients have a flow, and which flow makes room for another.

use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::HashMap;

/// The flows of a socket by their clients, as many as its limit at most.
///
/// Where there is no room for a flow, the oldest that had no answer yet makes it: a flood of forged addresses must not
/// keep clients out whom nobody has answered so far, nor end those who were answered.
#[derive(Debug)]
pub struct FlowTable<K, F> {
    limit: usize,
    flows: HashMap<K, Numbered<F>, foldhash::fast::RandomState>,
    /// Those that had no answer when they began, the oldest first; some have ended, or have one by now.
    unanswered: VecDeque<(K, u64)>,
    begun: u64,
}

/// A flow, and its place among all that have begun: another flow of the same client has another one.
#[derive(Debug)]
struct Numbered<F> {
    number: u64,
    flow: F,
}

/// A flow has begun.
#[derive(Debug)]
pub struct Begun<F> {
    /// The new one.
    pub flow: F,
    /// The one that is no longer in the table for it, and is to end.
    pub displaced: Option<F>,
}

/// Every flow has had an answer, so that none makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("as many flows as there may be")]
pub struct FlowsFull;

impl<K: Copy + Eq + Hash, F: Clone> FlowTable<K, F> {
    /// A table for this many flows.
    #[must_use]
    pub fn new(limit: usize) -> FlowTable<K, F> {
        FlowTable { limit, flows: HashMap::default(), unanswered: VecDeque::new(), begun: 0 }
    }

    /// The flow of a client.
    #[must_use]
    pub fn get(&self, client: &K) -> Option<&F> {
        self.flows.get(client).map(|known| &known.flow)
    }

    /// All flows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &F> {
        self.flows.values().map(|known| &known.flow)
    }

    /// How many flows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is no flow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Begins a client's flow in place of the one that it may have; `is_answered` says of a flow whether it had an
    /// answer, which stays so.
    ///
    /// # Errors
    /// When there is no room, and none can be made.
    pub fn begin(
        &mut self,
        client: K,
        make: impl FnOnce() -> F,
        is_answered: impl Fn(&F) -> bool,
    ) -> Result<Begun<F>, FlowsFull> {
        let own = self.flows.remove(&client).map(|own| own.flow);
        let displaced = if own.is_none() { self.make_room(&is_answered)? } else { own };
        let flow = make();
        self.begun += 1;
        self.flows.insert(client, Numbered { number: self.begun, flow: flow.clone() });
        self.unanswered.push_back((client, self.begun));
        if self.unanswered.len() > self.limit.saturating_mul(2) {
            self.unanswered
                .retain(|(client, number)| is_unanswered(&self.flows, client, *number, &is_answered));
        }
        Ok(Begun { flow, displaced })
    }

    /// Takes a client's flow out, if it still is the one that `is_it` knows; whether it was.
    pub fn end(&mut self, client: &K, is_it: impl Fn(&F) -> bool) -> bool {
        let there = self.get(client).is_some_and(is_it);
        if there {
            self.flows.remove(client);
        }
        there
    }

    fn make_room(&mut self, is_answered: impl Fn(&F) -> bool) -> Result<Option<F>, FlowsFull> {
        if self.flows.len() < self.limit {
            return Ok(None);
        }
        while let Some((client, number)) = self.unanswered.pop_front() {
            if is_unanswered(&self.flows, &client, number, &is_answered) {
                return Ok(self.flows.remove(&client).map(|oldest| oldest.flow));
            }
        }
        Err(FlowsFull)
    }
}

/// Whether the client's flow is still the one of this number, and had no answer so far.
fn is_unanswered<K: Eq + Hash, F>(
    flows: &HashMap<K, Numbered<F>, foldhash::fast::RandomState>,
    client: &K,
    number: u64,
    is_answered: impl Fn(&F) -> bool,
) -> bool {
    flows.get(client).is_some_and(|known| known.number == number && !is_answered(&known.flow))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(table: &mut FlowTable<u8, u8>, client: u8, answered: &[u8]) -> Result<Option<u8>, FlowsFull> {
        let begun = table.begin(client, || client, |flow| answered.contains(flow));
        begun.map(|begun| begun.displaced)
    }

    #[test]
    fn the_oldest_without_an_answer_makes_room() {
        let mut table = FlowTable::new(3);
        for client in [1, 2, 3] {
            assert_eq!(begin(&mut table, client, &[]), Ok(None));
        }
        assert_eq!(begin(&mut table, 4, &[1]), Ok(Some(2)));
        assert!(table.end(&3, |flow| *flow == 3));
        assert_eq!(begin(&mut table, 5, &[1]), Ok(None));
        assert_eq!(begin(&mut table, 6, &[1, 4, 5]), Err(FlowsFull));
        assert_eq!((table.len(), table.get(&6)), (3, None));
    }

    #[test]
    fn an_end_is_that_of_the_flow_that_ends() {
        let mut table = FlowTable::new(1);
        table.begin("client", || 1, |_| false).unwrap();
        assert_eq!(table.begin("client", || 2, |_| false).unwrap().displaced, Some(1));
        assert!(!table.end(&"client", |flow| *flow == 1));
        assert_eq!(table.get(&"client"), Some(&2));
    }
}
