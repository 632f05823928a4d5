//! Copies of requests.

use crate::{ClusterKey, Origin};

/// A copy of requests goes to this backend too; its answers are dropped.
///
/// Source: HTTPRequestMirrorFilter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The object that the reference names.
    pub origin: Origin,
    /// The port that the reference names.
    pub port: Option<u16>,
    /// Where the copies go.
    pub cluster: ClusterKey,
    /// Of how many requests there is a copy.
    pub share: MirrorShare,
}

/// A part of all requests, from none to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorShare {
    /// So many.
    pub numerator: u32,
    /// Of so many; never 0.
    pub denominator: u32,
}

impl MirrorShare {
    /// All requests.
    pub const ALL: MirrorShare = MirrorShare { numerator: 1, denominator: 1 };

    /// Whether a request is among them, `random` being any number.
    #[must_use]
    pub fn takes(self, random: u64) -> bool {
        random % u64::from(self.denominator.max(1)) < u64::from(self.numerator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HTTPRequestMirrorFilter.fraction: of `denominator` requests `numerator` are mirrored.
    #[test]
    fn a_share_takes_its_part_of_all_numbers() {
        let taken = |numerator, denominator| {
            (0..1000).filter(|random| MirrorShare { numerator, denominator }.takes(*random)).count()
        };
        assert_eq!([taken(0, 100), taken(42, 100), taken(5, 1000), taken(7, 7)], [0, 420, 5, 1000]);
        assert!((0..10).all(|random| MirrorShare::ALL.takes(random)));
    }
}
