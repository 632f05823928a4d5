//! [`Duration`] as GEP-2257 writes it.

use std::{fmt, str::FromStr, time};

use serde_json::Value;
use thiserror::Error;

use crate::{
    patterns::DURATION,
    schema::{Described, ReadError, Schema, serde_by_value},
    text::TextLimits,
};

/// A span of whole milliseconds, written as up to four numbers of up to five digits, each with
/// its unit `h`, `m`, `s` or `ms`: `10s`, `1h30m`, `500ms`.
///
/// Units may repeat and come in any order; they add up. Source: GEP-2257.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(time::Duration);

/// A text that is no [`Duration`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "must be a duration such as 10s, 1h30m or 500ms: one to four numbers, each followed by h, m, s or ms"
)]
pub struct InvalidDuration;

impl Duration {
    /// The span.
    pub const fn get(self) -> time::Duration {
        self.0
    }

    /// Whether it is zero, which in timeouts means none.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Duration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        if !DURATION.matches(text) {
            return Err(InvalidDuration);
        }
        let mut total = 0_u64;
        let mut rest = text;
        while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()) {
            let (number, tail) = rest.split_at(end);
            let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            let number: u64 = number.parse().map_err(|_| InvalidDuration)?;
            total += number * milliseconds(unit).ok_or(InvalidDuration)?;
            rest = tail;
        }
        Ok(Self(time::Duration::from_millis(total)))
    }
}

fn milliseconds(unit: &str) -> Option<u64> {
    match unit {
        "h" => Some(3_600_000),
        "m" => Some(60_000),
        "s" => Some(1_000),
        "ms" => Some(1),
        _ => None,
    }
}

impl fmt::Display for Duration {
    /// In descending units. Sums beyond 99,999 hours have more digits than GEP-2257 lets one write.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_millis();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            let count = rest / size;
            rest %= size;
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Described for Duration {
    fn schema() -> Schema {
        Schema::text(TextLimits { pattern: Some(&DURATION), ..TextLimits::NONE })
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        match &value {
            Value::String(text) => text.parse().map_err(ReadError::new),
            other => Err(ReadError::mismatch("a string", other)),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::from(self.to_string()))
    }
}

serde_by_value!(Duration);

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> Option<u128> {
        text.parse::<Duration>().ok().map(|d| d.get().as_millis())
    }

    #[test]
    fn units_add_up_in_any_order() {
        assert_eq!(millis("1h30m10s500ms"), Some(5_410_500));
        assert_eq!(millis("500ms1h"), Some(3_600_500));
        assert_eq!(millis("1s1s"), Some(2_000));
        assert_eq!(millis("0s"), Some(0));
        assert_eq!(millis("00010s"), Some(10_000));
    }

    #[test]
    fn what_gep_2257_excludes_is_refused() {
        for wrong in ["", "10", "1.5s", "-1s", "1d", "100000s", "1h1h1h1h1h", "1us", " 1s", "s"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_written_so_that_it_reads_back() {
        for (text, written) in [("90m", "1h30m"), ("1500ms", "1s500ms"), ("0ms", "0s")] {
            assert_eq!(text.parse::<Duration>().map(|d| d.to_string()), Ok(written.to_owned()));
        }
    }
}
