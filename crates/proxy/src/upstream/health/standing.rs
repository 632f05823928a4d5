//! How an endpoint stands, in one word that workers read and write without a lock.

/// How an endpoint stands. Times are milliseconds of the proxy's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::upstream) enum Standing {
    /// It has its whole share.
    Well,
    /// It came, or came back, and gets more and more.
    Warming {
        /// When it came.
        since: u64,
    },
    /// It is shut out.
    Ejected {
        /// Until when.
        until: u64,
    },
}

/// The two lowest bits say which it is.
const WARMING: u64 = 1;
const EJECTED: u64 = 2;
const BITS: u32 = 2;

/// The share with which an endpoint begins, of 2^32: a tenth.
const LEAST: u64 = (1 << 32) / 10;

impl Standing {
    pub(super) const fn pack(self) -> u64 {
        match self {
            Standing::Well => 0,
            Standing::Warming { since } => (since << BITS) | WARMING,
            Standing::Ejected { until } => (until << BITS) | EJECTED,
        }
    }

    pub(super) const fn unpack(packed: u64) -> Standing {
        let time = packed >> BITS;
        match packed & ((1 << BITS) - 1) {
            WARMING => Standing::Warming { since: time },
            EJECTED => Standing::Ejected { until: time },
            _ => Standing::Well,
        }
    }

    /// What it has become by a time, if a slow start takes this long.
    pub(super) const fn at(self, now: u64, slow_start: u64) -> Standing {
        match self {
            Standing::Ejected { until } if now >= until && slow_start == 0 => Standing::Well,
            Standing::Ejected { until } if now >= until => Standing::Warming { since: now },
            Standing::Warming { since } if now.saturating_sub(since) >= slow_start => Standing::Well,
            same => same,
        }
    }

    /// Its share of a turn, of 2^32: all of it once the slow start is over.
    pub(super) fn share(self, now: u64, slow_start: u64) -> u64 {
        const WHOLE: u64 = 1 << 32;
        match self {
            Standing::Well => WHOLE,
            Standing::Ejected { .. } => 0,
            Standing::Warming { since } => {
                let passed = u128::from(now.saturating_sub(since)) * u128::from(WHOLE);
                let share = passed.checked_div(u128::from(slow_start)).unwrap_or(u128::from(WHOLE));
                u64::try_from(share).unwrap_or(WHOLE).clamp(LEAST, WHOLE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_it() {
        for standing in
            [Standing::Well, Standing::Warming { since: 0 }, Standing::Ejected { until: u64::MAX >> 2 }]
        {
            assert_eq!(Standing::unpack(standing.pack()), standing);
        }
        assert_eq!(Standing::Well.pack(), 0);
    }

    /// Shut out until 30 s; then ten seconds from a tenth to all.
    #[test]
    fn what_was_shut_out_comes_back_little_by_little() {
        let ejected = Standing::Ejected { until: 30_000 };
        assert_eq!(ejected.at(29_999, 10_000), ejected);
        let back = ejected.at(30_000, 10_000);
        assert_eq!(back, Standing::Warming { since: 30_000 });
        let tenths = |now| (back.share(now, 10_000) * 10) >> 32;
        assert_eq!([30_000, 35_000, 39_999].map(tenths), [0, 5, 9]);
        assert_eq!(back.share(30_000, 10_000), LEAST);
        assert_eq!(back.at(39_999, 10_000), back);
        assert_eq!(back.at(40_000, 10_000), Standing::Well);
        assert_eq!(ejected.at(30_000, 0), Standing::Well, "there is no slow start");
    }
}
