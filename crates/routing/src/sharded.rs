//! A hash map whose successor costs what changed.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Mean number of values of a shard above which there are four times as many shards: copying one shard and the
/// list of shards should cost alike small at 10,000 values.
const SHARD_VALUES: usize = 64;

/// A value that holds its own key.
pub(crate) trait Keyed {
    fn key(&self) -> &str;
}

/// A map of values by their keys, in shards that successive versions share.
pub(crate) struct ShardedMap<V> {
    hasher: RandomState,
    /// A power of two of them.
    shards: Vec<Arc<HashTable<V>>>,
    len: usize,
}

impl<V> Default for ShardedMap<V> {
    fn default() -> Self {
        ShardedMap { hasher: RandomState::default(), shards: vec![Arc::default()], len: 0 }
    }
}

impl<V> Clone for ShardedMap<V> {
    fn clone(&self) -> Self {
        ShardedMap { hasher: self.hasher.clone(), shards: self.shards.clone(), len: self.len }
    }
}

impl<V: Keyed + Clone> ShardedMap<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn get(&self, key: &str) -> Option<&V> {
        if self.len == 0 {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        self.shards.get(self.shard_of(hash))?.find(hash, |value| value.key() == key)
    }

    /// The value of a key, made if there is none yet, to be changed.
    pub(crate) fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        if self.get(key).is_none() {
            self.reshard_for(self.len + 1);
            let shard = self.shard_of(hash);
            let hasher = &self.hasher;
            let table = Arc::make_mut(self.shards.get_mut(shard)?);
            table.insert_unique(hash, make(), |value| hasher.hash_one(value.key()));
            self.len += 1;
        }
        self.get_mut(key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard_of(hash);
        Arc::make_mut(self.shards.get_mut(shard)?).find_mut(hash, |value| value.key() == key)
    }

    pub(crate) fn remove(&mut self, key: &str) {
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

    /// Bits of the hash that neither choose a bucket in a shard nor are compared there.
    fn shard_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.shards.len() - 1)
    }

    fn reshard_for(&mut self, len: usize) {
        let current = self.shards.len();
        let wanted = match current {
            _ if len > current * SHARD_VALUES => current * 4,
            2.. if len < current * SHARD_VALUES / 16 => current / 4,
            _ => return,
        };
        let old = std::mem::replace(&mut self.shards, vec![Arc::default(); wanted]);
        for value in old.iter().flat_map(|shard| shard.iter()) {
            let hash = self.hasher.hash_one(value.key());
            let (shard, hasher) = (self.shard_of(hash), &self.hasher);
            if let Some(table) = self.shards.get_mut(shard) {
                Arc::make_mut(table).insert_unique(hash, value.clone(), |value| hasher.hash_one(value.key()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for (String, usize) {
        fn key(&self) -> &str {
            &self.0
        }
    }

    /// Growing and shrinking over several numbers of shards loses and keeps nothing, and a copy is unmoved.
    #[test]
    fn every_key_is_found_until_it_is_removed() {
        let mut map = ShardedMap::default();
        let key = |number: usize| format!("k{number}");
        for number in 0..5_000 {
            map.get_or_insert_with(&key(number), || (key(number), 0)).unwrap().1 = number;
        }
        assert_eq!(map.shards.len(), 256);
        let copy = map.clone();
        for number in 0..4_990 {
            map.remove(&key(number));
        }
        map.remove("absent");
        assert_eq!(map.shards.len(), 1);
        for number in 0..5_000 {
            assert_eq!(map.get(&key(number)).map(|value| value.1), (number >= 4_990).then_some(number));
            assert_eq!(copy.get(&key(number)).map(|value| value.1), Some(number));
        }
        assert_eq!((map.iter().count(), copy.iter().count()), (10, 5_000));
    }

    #[test]
    fn a_change_copies_one_shard() {
        let mut map = ShardedMap::default();
        for number in 0..5_000 {
            map.get_or_insert_with(&format!("{number}"), || (format!("{number}"), 0));
        }
        let mut changed = map.clone();
        changed.get_mut("17").unwrap().1 = 1;
        let shared = map.shards.iter().zip(&changed.shards).filter(|(one, two)| Arc::ptr_eq(one, two));
        assert_eq!(shared.count(), map.shards.len() - 1);
    }
}
