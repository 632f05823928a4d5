//! A hash map in shards that successive versions share.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::keyed::Keyed;

/// Mean number of values of a shard above which there are four times as many shards: copying one shard and the
/// list of shards should cost alike small at 10,000 values.
const SHARD_VALUES: usize = 64;

/// A map of values by their keys.
pub(crate) struct Shards<V> {
    hasher: RandomState,
    /// A power of two of them.
    shards: Vec<Arc<HashTable<V>>>,
    len: usize,
}

impl<V> Clone for Shards<V> {
    fn clone(&self) -> Self {
        Shards { hasher: self.hasher.clone(), shards: self.shards.clone(), len: self.len }
    }
}

impl<V: Keyed + Clone> FromIterator<V> for Shards<V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let mut shards = Shards { hasher: RandomState::default(), shards: vec![Arc::default()], len: 0 };
        values.into_iter().for_each(|value| shards.insert(value));
        shards
    }
}

impl<V: Keyed + Clone> Shards<V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&V> {
        let hash = self.hasher.hash_one(key);
        self.shards.get(self.shard_of(hash))?.find(hash, |value| value.key() == key)
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard_of(hash);
        Arc::make_mut(self.shards.get_mut(shard)?).find_mut(hash, |value| value.key() == key)
    }

    /// Inserts a value whose key is not there.
    pub(crate) fn insert(&mut self, value: V) {
        self.reshard_for(self.len + 1);
        self.place(value);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard_of(hash);
        let Some(table) = self.shards.get_mut(shard) else { return };
        if let Ok(found) = Arc::make_mut(table).find_entry(hash, |value| value.key() == key) {
            found.remove();
            self.len -= 1;
            self.reshard_for(self.len);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    /// By bits of the hash that neither choose a bucket in a shard nor are compared there.
    fn shard_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.shards.len() - 1)
    }

    fn place(&mut self, value: V) {
        let hash = self.hasher.hash_one(value.key());
        let (shard, hasher) = (self.shard_of(hash), &self.hasher);
        if let Some(table) = self.shards.get_mut(shard) {
            Arc::make_mut(table).insert_unique(hash, value, |value| hasher.hash_one(value.key()));
        }
    }

    fn reshard_for(&mut self, len: usize) {
        let current = self.shards.len();
        let wanted = match current {
            _ if len > current * SHARD_VALUES => current * 4,
            2.. if len < current * SHARD_VALUES / 16 => current / 4,
            _ => return,
        };
        let old = std::mem::replace(&mut self.shards, vec![Arc::default(); wanted]);
        old.iter().flat_map(|shard| shard.iter()).for_each(|value| self.place(value.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(count: usize) -> Shards<(String, usize)> {
        (0..count).map(|number| (number.to_string(), number)).collect()
    }

    #[test]
    fn shards_follow_the_number_of_values() {
        let mut shards = shards(5_000);
        assert_eq!(shards.shards.len(), 256);
        (0..4_900).for_each(|number| shards.remove(number.to_string().as_bytes()));
        assert_eq!((shards.len(), shards.shards.len()), (100, 16));
    }

    /// Four times as many above 64 values a shard, a quarter below 4: a value that comes and goes moves none.
    #[test]
    fn shards_are_made_and_dropped_at_their_bounds() {
        let mut map = shards(0);
        let mut grown = Vec::new();
        for number in 0..1_200 {
            let before = map.shards.len();
            map.insert((number.to_string(), number));
            if map.shards.len() != before {
                grown.push((map.len(), map.shards.len()));
            }
        }
        assert_eq!(grown, [(65, 4), (257, 16), (1_025, 64)]);
        let mut shrunk = Vec::new();
        for number in 0..1_200 {
            let before = map.shards.len();
            map.remove(number.to_string().as_bytes());
            if map.shards.len() != before {
                shrunk.push((map.len(), map.shards.len()));
            }
        }
        assert_eq!(shrunk, [(255, 16), (63, 4), (15, 1)]);
        assert_eq!(map.iter().count(), 0);
    }

    /// The hash spreads values over shards: a copy of one is cheap.
    #[test]
    fn no_shard_has_much_more_than_its_part() {
        let shards = shards(10_000);
        let most = shards.shards.iter().map(|shard| shard.len()).max();
        assert!(most.is_some_and(|most| (40..3 * SHARD_VALUES).contains(&most)), "{most:?}");
    }

    #[test]
    fn a_change_copies_one_shard() {
        let map = shards(5_000);
        let mut changed = map.clone();
        changed.get_mut(b"17").unwrap().1 = 1;
        let shared = map.shards.iter().zip(&changed.shards).filter(|(one, two)| Arc::ptr_eq(one, two));
        assert_eq!(shared.count(), map.shards.len() - 1);
    }
}
