//! What the query of a request asks of the echo.

use std::time::Duration;

/// The longest delay that can be asked for.
const LONGEST: Duration = Duration::from_secs(60);

/// How to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// How long to wait first.
    pub(super) delay: Duration,
    /// The status to answer with.
    pub(super) status: u16,
}

impl Wish {
    /// Reads a query; what it does not understand it leaves alone.
    pub(super) fn of(query: &str) -> Self {
        let mut wish = Self { delay: Duration::ZERO, status: 200 };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "delay" => wish.delay = delay(value).unwrap_or(wish.delay),
                "status" => wish.status = status(value).unwrap_or(wish.status),
                _ => {}
            }
        }
        wish
    }
}

fn delay(value: &str) -> Option<Duration> {
    crate::values::duration(value).ok().map(|delay| delay.min(LONGEST))
}

/// A final status; an interim one would leave the client waiting.
fn status(value: &str) -> Option<u16> {
    value.parse().ok().filter(|status| (200..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_how_long_and_with_what() {
        let plain = Wish { delay: Duration::ZERO, status: 200 };
        assert_eq!(Wish::of(""), plain);
        assert_eq!(Wish::of("x=1&delay=oops&status=42"), plain);
        assert_eq!(
            Wish::of("delay=1500ms&status=503"),
            Wish { delay: Duration::from_millis(1500), status: 503 }
        );
        assert_eq!(Wish::of("delay=10h").delay, LONGEST);
        assert_eq!(Wish::of("status=100").status, 200);
    }
}
