//! Times at which the system has no descriptor or memory left for another connection: told once when they begin and
//! once when they end, however often accepting pauses between.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A time is over when accepting has not paused for as long as this many pauses take.
const CALM: u32 = 20;

/// Whether such a time has come; all workers and ports share it.
#[derive(Default)]
pub(crate) struct Scarcity(Mutex<Option<Spell>>);

/// Such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spell {
    began: Instant,
    last: Instant,
    /// How often accepting has paused.
    pub(crate) pauses: u64,
}

impl Spell {
    pub(crate) fn lasted(&self) -> Duration {
        self.last.duration_since(self.began)
    }
}

impl Scarcity {
    fn spell(&self) -> MutexGuard<'_, Option<Spell>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that accepting pauses; true when that begins a time of scarcity, whose end is then to be looked for.
    pub(crate) fn begins(&self, now: Instant) -> bool {
        let mut spell = self.spell();
        let begins = spell.is_none();
        let noted = spell.get_or_insert(Spell { began: now, last: now, pauses: 0 });
        (noted.last, noted.pauses) = (now, noted.pauses + 1);
        begins
    }

    /// The time of scarcity, once it has ended; until then, when to look again.
    pub(crate) fn ended(&self, now: Instant, pause: Duration) -> Result<Option<Spell>, Instant> {
        let mut spell = self.spell();
        match *spell {
            Some(Spell { last, .. }) if now < last + pause * CALM => Err(last + pause * CALM),
            _ => Ok(spell.take()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spell_lasts_until_accepting_has_not_paused_for_a_while() {
        let (scarcity, pause, start) = (Scarcity::default(), Duration::from_millis(100), Instant::now());
        assert!(scarcity.begins(start));
        for number in 1..=30 {
            assert!(!scarcity.begins(start + pause * number));
        }
        let last = start + pause * 30;
        assert_eq!(scarcity.ended(last, pause), Err(last + pause * 20));
        assert_eq!(scarcity.ended(last + pause * 19, pause), Err(last + pause * 20));
        let spell = scarcity.ended(last + pause * 20, pause).unwrap().unwrap();
        assert_eq!((spell.pauses, spell.lasted()), (31, pause * 30));
        assert!(scarcity.begins(last + pause * 21), "the next is another one");
    }
}
