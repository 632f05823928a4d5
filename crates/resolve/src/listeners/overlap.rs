//! TLS listeners of a port whose names overlap, so that a client may reuse a connection for the wrong one.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_model::{HostPattern, Hostname};

/// How a listener overlaps others; the greater is reported when both hold.
///
/// Source: `ListenerConditionOverlappingTLSConfig` of the Gateway API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Overlap {
    Hostnames,
    Certificates,
}

/// Which of several owners of names have a name that another's name overlaps.
///
/// Costs the names times their labels: each name looks for its own text and for the wildcards above it.
pub(crate) fn overlapping(owners: &[Vec<HostPattern>]) -> Vec<bool> {
    let mut index: HashMap<&HostPattern, Holders, FixedState> = HashMap::default();
    for (owner, names) in owners.iter().enumerate() {
        for name in names {
            index.entry(name).or_default().add(owner);
        }
    }
    let mut found = vec![false; owners.len()];
    let mut mark = |owner: usize| {
        if let Some(slot) = found.get_mut(owner) {
            *slot = true;
        }
    };
    // A wildcard is overlapped when anything of another owner lies below it: noted here, marked at the end.
    let mut below: HashMap<HostPattern, Holders, FixedState> = HashMap::default();
    for (owner, names) in owners.iter().enumerate() {
        for name in names {
            for wider in std::iter::once(name.clone()).chain(wider(name)) {
                if let Some(holders) = index.get(&wider) {
                    if holders.other_than(owner) {
                        mark(owner);
                    }
                    below.entry(wider).or_default().add(owner);
                }
            }
        }
    }
    for (owner, names) in owners.iter().enumerate() {
        if names.iter().any(|name| below.get(name).is_some_and(|holders| holders.other_than(owner))) {
            mark(owner);
        }
    }
    found
}

/// Owners of a name, as far as "another than this one" asks.
#[derive(Default)]
struct Holders {
    first: Option<usize>,
    several: bool,
}

impl Holders {
    fn add(&mut self, owner: usize) {
        match self.first {
            None => self.first = Some(owner),
            Some(first) => self.several |= first != owner,
        }
    }

    fn other_than(&self, owner: usize) -> bool {
        self.several || self.first.is_some_and(|first| first != owner)
    }
}

/// The patterns that contain a pattern, itself left out.
fn wider(name: &HostPattern) -> impl Iterator<Item = HostPattern> {
    let text = match name {
        HostPattern::Any => "",
        HostPattern::Suffix(name) | HostPattern::Exact(name) => name.as_str(),
    };
    let any = (*name != HostPattern::Any).then_some(HostPattern::Any);
    let parents =
        text.match_indices('.').filter_map(|(dot, _)| text.get(dot + 1..)).filter_map(Hostname::new);
    parents.map(HostPattern::Suffix).chain(any).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn oracle(owners: &[Vec<HostPattern>]) -> Vec<bool> {
        let meets =
            |a: &[HostPattern], b: &[HostPattern]| a.iter().any(|a| b.iter().any(|b| a.intersects(b)));
        let others = |index: usize| owners.iter().enumerate().filter(move |(other, _)| *other != index);
        (0..owners.len()).map(|index| others(index).any(|(_, names)| meets(&owners[index], names))).collect()
    }

    fn names() -> impl Strategy<Value = Vec<HostPattern>> {
        let name = prop::sample::select(vec![
            "",
            "*.com",
            "*.a.com",
            "*.b.com",
            "a.com",
            "x.a.com",
            "*.x.a.com",
            "y.x.a.com",
            "b.com",
            "com",
        ]);
        prop::collection::vec(name.prop_map(HostPattern::parse), 0..3)
    }

    proptest! {
        /// OverlappingTLSConfig is on exactly those listeners that share a host with another.
        #[test]
        fn as_comparing_all_pairs(owners in prop::collection::vec(names(), 0..6)) {
            prop_assert_eq!(overlapping(&owners), oracle(&owners));
        }
    }
}
