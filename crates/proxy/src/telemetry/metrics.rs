//! Counters, one set per worker: each is written by its worker alone and summed when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portcullis_http1::Version;

use super::session::Session;
use crate::reason::Reason;

/// Upper ends of the buckets of request durations, in milliseconds; one more bucket holds the rest.
pub(crate) const DURATION_BUCKETS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 30_000];

/// A counter with one writer: no atomic read-modify-write.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter for each reason.
#[derive(Debug)]
struct ByReason([Counter; Reason::ALL.len()]);

impl Default for ByReason {
    fn default() -> ByReason {
        ByReason(std::array::from_fn(|_| Counter::default()))
    }
}

/// The counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerMetrics {
    connections_opened: Counter,
    connections_closed: Counter,
    refused: ByReason,
    ended: ByReason,
    sessions: [ByReason; Session::ALL.len()],
    pub(crate) session_bytes_received: Counter,
    pub(crate) session_bytes_sent: Counter,
    pub(crate) datagrams_dropped: Counter,
    pub(crate) quic_handed_over: Counter,
    pub(crate) quic_retries: Counter,
    statuses: [Counter; 6],
    versions: [Counter; 4],
    durations: [Counter; DURATION_BUCKETS.len() + 1],
    pub(crate) duration_sum_micros: Counter,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) upstream_connects: Counter,
    pub(crate) upstream_connect_failures: Counter,
    pub(crate) upstream_reuses: Counter,
    pub(crate) replays: Counter,
    pub(crate) retries: Counter,
    pub(crate) mirrored: Counter,
    pub(crate) mirrors_lost: Counter,
    pub(crate) tls_handshakes: Counter,
    pub(crate) tunnels: Counter,
}

impl WorkerMetrics {
    pub(crate) fn connection_opened(&self) {
        self.connections_opened.add(1);
    }

    pub(crate) fn connection_closed(&self) {
        self.connections_closed.add(1);
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> u64 {
        self.connections_opened.get()
    }

    pub(crate) fn open_connections(&self) -> u64 {
        self.connections_opened.get().saturating_sub(self.connections_closed.get())
    }

    /// A connection or stream was refused before it carried a request.
    pub(crate) fn refused(&self, reason: Reason) {
        count(&self.refused.0, reason as usize, 1);
    }

    pub(crate) fn refusals(&self, reason: Reason) -> u64 {
        read(&self.refused.0, reason as usize)
    }

    /// A request was answered, or ended without an answer (status 0).
    pub(crate) fn request(&self, status: u16, version: Version, reason: Reason, took: Duration) {
        count(&self.ended.0, reason as usize, 1);
        count(&self.statuses, usize::from(status / 100), 1);
        count(&self.versions, version as usize, 1);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        count(&self.durations, DURATION_BUCKETS.partition_point(|end| *end < millis), 1);
        self.duration_sum_micros.add(u64::try_from(took.as_micros()).unwrap_or(0));
    }

    pub(crate) fn requests_ended(&self, reason: Reason) -> u64 {
        read(&self.ended.0, reason as usize)
    }

    /// A connection or flow below HTTP has ended.
    pub(crate) fn session(&self, session: Session, reason: Reason, received: u64, sent: u64) {
        if let Some(ended) = self.sessions.get(session as usize) {
            count(&ended.0, reason as usize, 1);
        }
        self.session_bytes_received.add(received);
        self.session_bytes_sent.add(sent);
    }

    pub(crate) fn sessions_ended(&self, session: Session, reason: Reason) -> u64 {
        self.sessions.get(session as usize).map_or(0, |ended| read(&ended.0, reason as usize))
    }

    /// Answers by the first digit of their status; 0 for requests without an answer.
    pub(crate) fn statuses(&self, class: usize) -> u64 {
        read(&self.statuses, class)
    }

    pub(crate) fn versions(&self, version: Version) -> u64 {
        read(&self.versions, version as usize)
    }

    /// Requests in a bucket of durations.
    pub(crate) fn durations(&self, bucket: usize) -> u64 {
        read(&self.durations, bucket)
    }
}

fn count(counters: &[Counter], index: usize, by: u64) {
    if let Some(counter) = counters.get(index) {
        counter.add(by);
    }
}

fn read(counters: &[Counter], index: usize) -> u64 {
    counters.get(index).map_or(0, Counter::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_by_status_version_reason_and_duration() {
        let metrics = WorkerMetrics::default();
        metrics.request(404, Version::Http2, Reason::NoRule, Duration::from_millis(2));
        metrics.request(0, Version::Http11, Reason::ClientClosed, Duration::from_secs(60));
        assert_eq!((metrics.statuses(4), metrics.statuses(0), metrics.statuses(2)), (1, 1, 0));
        assert_eq!((metrics.versions(Version::Http2), metrics.versions(Version::Http11)), (1, 1));
        assert_eq!(metrics.requests_ended(Reason::NoRule), 1);
        assert_eq!((metrics.durations(1), metrics.durations(DURATION_BUCKETS.len())), (1, 1));
    }
}
