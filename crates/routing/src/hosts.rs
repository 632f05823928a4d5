//! A map from host patterns to what they lead to.

use portcullis_model::{HostPattern, Hostname};

use crate::authority::is_ip_literal;
use crate::depths::Depths;
use crate::keyed::{Key, Keyed, KeyedMap};

/// Values by host pattern, found by a hash probe for the host and one for each of its suffixes.
pub(crate) struct HostMap<V> {
    exact: KeyedMap<Named<V>>,
    suffixes: KeyedMap<Named<V>>,
    /// Of the suffixes, in labels.
    labels: Depths,
    any: Option<V>,
}

struct Named<V> {
    name: Key,
    value: V,
}

impl<V> Keyed for Named<V> {
    fn key(&self) -> &[u8] {
        &self.name
    }
}

impl<V: Clone> Clone for Named<V> {
    fn clone(&self) -> Self {
        Named { name: self.name.clone(), value: self.value.clone() }
    }
}

impl<V> Default for HostMap<V> {
    fn default() -> Self {
        HostMap {
            exact: KeyedMap::default(),
            suffixes: KeyedMap::default(),
            labels: Depths::default(),
            any: None,
        }
    }
}

impl<V: Clone> Clone for HostMap<V> {
    fn clone(&self) -> Self {
        HostMap {
            exact: self.exact.clone(),
            suffixes: self.suffixes.clone(),
            labels: self.labels.clone(),
            any: self.any.clone(),
        }
    }
}

impl<V: Clone> HostMap<V> {
    /// The values whose pattern matches a canonical host, the most specific first: exact, then wildcards from
    /// the longest, then any. An IP address is matched by any alone.
    pub(crate) fn matching<'t, 'h>(&'t self, host: &'h str) -> impl Iterator<Item = &'t V> + use<'t, 'h, V> {
        let name = (!is_ip_literal(host)).then_some(host);
        let exact = name.and_then(|name| self.exact.get(name));
        let wild = name.filter(|_| !self.suffixes.is_empty());
        let suffixes = wild.into_iter().flat_map(|name| self.suffixes_of(name));
        exact.into_iter().chain(suffixes).map(|named| &named.value).chain(&self.any)
    }

    fn suffixes_of<'t, 'h>(&'t self, host: &'h str) -> impl Iterator<Item = &'t Named<V>> + use<'t, 'h, V> {
        let dots = host.bytes().filter(|byte| *byte == b'.').count();
        let ends = host.match_indices('.').enumerate();
        ends.filter_map(move |(index, (at, _))| {
            let known = at > 0 && self.labels.has(dots - index);
            known.then(|| host.get(at + 1..).and_then(|suffix| self.suffixes.get(suffix))).flatten()
        })
    }

    /// The value of a pattern itself.
    pub(crate) fn get_mut(&mut self, pattern: &HostPattern) -> Option<&mut V> {
        match pattern {
            HostPattern::Any => self.any.as_mut(),
            HostPattern::Suffix(name) => self.suffixes.get_mut(name.as_str()).map(|named| &mut named.value),
            HostPattern::Exact(name) => self.exact.get_mut(name.as_str()).map(|named| &mut named.value),
        }
    }

    pub(crate) fn get_or_insert_with(
        &mut self,
        pattern: &HostPattern,
        make: impl FnOnce() -> V,
    ) -> Option<&mut V> {
        let (map, name) = match pattern {
            HostPattern::Any => return Some(self.any.get_or_insert_with(make)),
            HostPattern::Exact(name) => (&mut self.exact, name),
            HostPattern::Suffix(name) => {
                if self.suffixes.get(name.as_str()).is_none() {
                    self.labels.add(label_count(name));
                }
                (&mut self.suffixes, name)
            }
        };
        let made = || Named { name: name.as_str().as_bytes().into(), value: make() };
        map.get_or_insert_with(name.as_str(), made).map(|named| &mut named.value)
    }

    pub(crate) fn remove(&mut self, pattern: &HostPattern) {
        match pattern {
            HostPattern::Any => self.any = None,
            HostPattern::Exact(name) => self.exact.remove(name.as_str()),
            HostPattern::Suffix(name) => {
                if self.suffixes.get(name.as_str()).is_some() {
                    self.labels.remove(label_count(name));
                    self.suffixes.remove(name.as_str());
                }
            }
        }
    }

    /// All values, in no particular order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        let named = self.exact.iter().chain(self.suffixes.iter());
        named.map(|named| &named.value).chain(&self.any)
    }
}

fn label_count(name: &Hostname) -> usize {
    name.as_str().split('.').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(patterns: &[&str]) -> HostMap<String> {
        let mut map = HostMap::default();
        for pattern in patterns {
            map.get_or_insert_with(&HostPattern::parse(pattern), || (*pattern).to_owned());
        }
        map
    }

    fn found(map: &HostMap<String>, host: &str) -> Vec<String> {
        map.matching(host).cloned().collect()
    }

    /// Gateway.spec.listeners: exact, then wildcards by labels, then none.
    #[test]
    fn the_most_specific_comes_first() {
        let map = map(&["", "*.com", "*.b.com", "*.a.b.com", "a.b.com", "b.com"]);
        assert_eq!(found(&map, "a.b.com"), ["a.b.com", "*.b.com", "*.com", ""]);
        assert_eq!(found(&map, "x.a.b.com"), ["*.a.b.com", "*.b.com", "*.com", ""]);
        assert_eq!(found(&map, "b.com"), ["b.com", "*.com", ""]);
        assert_eq!(found(&map, "com"), [""]);
        assert_eq!(found(&map, ".com"), [""]);
        assert_eq!(found(&map, ""), [""]);
    }

    /// Hostnames are no addresses, even where a listener's looks like one.
    #[test]
    fn addresses_are_matched_by_any_alone() {
        let map = map(&["", "1.2.3.4", "*.3.4"]);
        assert_eq!(found(&map, "1.2.3.4"), [""]);
        assert_eq!(found(&map, "[::1]"), [""]);
        assert_eq!(found(&map, "a.3.4"), ["*.3.4", ""]);
    }

    #[test]
    fn a_removed_pattern_matches_no_more() {
        let mut map = map(&["*.b.com", "*.com", "a.b.com", ""]);
        for pattern in ["*.b.com", "", "absent.com", "*.absent.com"] {
            map.remove(&HostPattern::parse(pattern));
        }
        assert_eq!(found(&map, "a.b.com"), ["a.b.com", "*.com"]);
        assert_eq!(map.values().count(), 2);
        assert!(map.labels.has(1) && !map.labels.has(2), "suffixes of two labels are still looked for");
    }
}
