//! [`WriteCounts`].

/// What a [`StatusWriter`](super::StatusWriter) has done since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Statuses that were written.
    pub written: u64,
    /// Writes that met a newer version of the object, and were merged anew.
    pub conflicts: u64,
    /// Requests that failed otherwise, and are tried again with back-off.
    pub failures: u64,
    /// Objects that are being written or wait for it; 0 once everything is settled, or while another one leads.
    pub pending: usize,
}
