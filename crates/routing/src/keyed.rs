//! Maps of values that hold their own keys, whose successors cost what changed.

use smallvec::SmallVec;

use crate::sharded::Shards;

/// Values up to which looking at each is faster than hashing.
const FEW: usize = 8;

/// A key's bytes. Short ones lie beside their value, so that comparing them costs no further access to memory.
pub(crate) type Key = SmallVec<[u8; 24]>;

/// A value that holds its own key.
pub(crate) trait Keyed {
    fn key(&self) -> &[u8];
}

/// A map of values by their keys. Most hosts have a handful of rules, some have ten thousand.
pub(crate) enum KeyedMap<V> {
    Few(SmallVec<[V; 1]>),
    Many(Shards<V>),
}

impl<V> Default for KeyedMap<V> {
    fn default() -> Self {
        KeyedMap::Few(SmallVec::new())
    }
}

impl<V: Clone> Clone for KeyedMap<V> {
    fn clone(&self) -> Self {
        match self {
            KeyedMap::Few(values) => KeyedMap::Few(values.clone()),
            KeyedMap::Many(shards) => KeyedMap::Many(shards.clone()),
        }
    }
}

impl<V: Keyed + Clone> KeyedMap<V> {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            KeyedMap::Few(values) => values.is_empty(),
            KeyedMap::Many(_) => false,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&V> {
        let key = key.as_bytes();
        match self {
            KeyedMap::Few(values) => values.iter().find(|value| value.key() == key),
            KeyedMap::Many(shards) => shards.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let key = key.as_bytes();
        match self {
            KeyedMap::Few(values) => values.iter_mut().find(|value| value.key() == key),
            KeyedMap::Many(shards) => shards.get_mut(key),
        }
    }

    /// The value of a key, made if there is none yet, to be changed.
    pub(crate) fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> Option<&mut V> {
        if self.get(key).is_none() {
            self.insert(make());
        }
        self.get_mut(key)
    }

    fn insert(&mut self, value: V) {
        match self {
            KeyedMap::Few(values) if values.len() < FEW => values.push(value),
            KeyedMap::Few(values) => {
                let all = std::mem::take(values).into_iter().chain([value]);
                *self = KeyedMap::Many(all.collect());
            }
            KeyedMap::Many(shards) => shards.insert(value),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        let key = key.as_bytes();
        match self {
            KeyedMap::Few(values) => values.retain(|value| value.key() != key),
            KeyedMap::Many(shards) => {
                shards.remove(key);
                // Half of the bound, so that a value that comes and goes does not turn the map each time.
                if shards.len() <= FEW / 2 {
                    *self = KeyedMap::Few(shards.iter().cloned().collect());
                }
            }
        }
    }

    /// All values, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        let (few, many) = match self {
            KeyedMap::Few(values) => (Some(values), None),
            KeyedMap::Many(shards) => (None, Some(shards)),
        };
        few.into_iter().flatten().chain(many.into_iter().flat_map(Shards::iter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for (String, usize) {
        fn key(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }

    /// Growing and shrinking over every form of the map loses and keeps nothing, and a copy is unmoved.
    #[test]
    fn every_key_is_found_until_it_is_removed() {
        let mut map = KeyedMap::default();
        let key = |number: usize| format!("k{number}");
        for number in 0..5_000 {
            map.get_or_insert_with(&key(number), || (key(number), 0)).unwrap().1 = number;
            assert_eq!(map.iter().count(), number + 1);
            assert_eq!(matches!(map, KeyedMap::Few(_)), number < FEW);
        }
        let copy = map.clone();
        map.remove("absent");
        for gone in 0..5_000 {
            map.remove(&key(gone));
            assert_eq!(map.get(&key(gone)), None);
            assert_eq!(map.get("k4999").is_some(), gone < 4_999);
            assert_eq!(matches!(map, KeyedMap::Few(_)), gone >= 4_999 - FEW / 2);
        }
        assert!(map.is_empty() && !copy.is_empty());
        for number in 0..5_000 {
            assert_eq!(copy.get(&key(number)).map(|value| value.1), Some(number));
        }
        assert_eq!((map.iter().count(), copy.iter().count()), (0, 5_000));
    }
}
