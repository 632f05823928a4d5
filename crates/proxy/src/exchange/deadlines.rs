//! When an exchange has lasted too long, and when a side of it has been silent for too long.

use std::time::{Duration, Instant};

use crate::reason::Reason;

/// When an attempt has to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    request: Option<Instant>,
    attempt: Option<Instant>,
}

impl Deadlines {
    pub(super) fn new(request: Option<Instant>, attempt: Option<Duration>) -> Deadlines {
        Deadlines { request, attempt: attempt.map(|timeout| Instant::now() + timeout) }
    }

    /// The earlier one, and why an exchange that it ends has failed.
    pub(super) fn first(&self) -> Option<(Instant, Reason)> {
        let request = self.request.map(|at| (at, Reason::RequestTimeout));
        let attempt = self.attempt.map(|at| (at, Reason::BackendTimeout));
        [request, attempt].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    pub(super) fn passed(&self) -> bool {
        self.first().is_some_and(|(at, _)| at <= Instant::now())
    }
}

/// How long one side has kept the exchange waiting without a sign of life.
pub(super) struct Silence<P> {
    /// Zero is for ever.
    patience: Duration,
    progress: P,
    until: Option<Instant>,
}

impl<P: PartialEq> Silence<P> {
    pub(super) fn new(patience: Duration, progress: P) -> Silence<P> {
        Silence { patience, progress, until: None }
    }

    /// When the silence will have been too long; none while the side owes nothing. `progress` changes with every
    /// sign of life.
    pub(super) fn until(&mut self, owes: bool, progress: P) -> Option<Instant> {
        if !owes || progress != self.progress {
            (self.until, self.progress) = (None, progress);
        }
        let patience = self.patience;
        (owes && !patience.is_zero()).then(|| *self.until.get_or_insert_with(|| Instant::now() + patience))
    }
}
