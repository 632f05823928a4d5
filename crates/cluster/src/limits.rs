//! Every limit of reading a cluster, with unit and reason.

use std::time::Duration;

/// How long an object is held back for what it refers to, at most: the previous version serves meanwhile.
pub(crate) const HOLD: Duration = Duration::from_millis(500);
/// The same at the start, when nothing serves yet and thousands of Secrets may have to be read.
pub(crate) const HOLD_AT_START: Duration = Duration::from_secs(10);
/// Who may refer to an object for its removal to be held back until they have been read again: whoever takes away
/// what more objects refer to waits for none of them.
pub(crate) const REFERRERS_TO_CONFIRM: usize = 64;
/// The first pause after a failure. An API server that restarts is back within seconds.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause after failures, before its jitter: the most that catching up waits for.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// The same while the API server cannot be reached at all, to which trying again is no burden.
pub(crate) const LONGEST_PAUSE_UNREACHED: Duration = Duration::from_secs(2);
/// The first pause after a failed read of one object.
pub(crate) const FIRST_PAUSE_OF_READS: Duration = Duration::from_millis(20);
/// How long one read may take. Nothing else ends a request that an API server never answers.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Reads at a time, so that many new references do not flood the API server.
pub(crate) const READS_AT_A_TIME: usize = 32;
/// How long a streamed list may be silent before it is taken for one that never ends: API servers without streamed
/// lists ignore the request for one.
pub(crate) const SILENCE_OF_STREAMED_LISTS: Duration = Duration::from_secs(10);
/// How often the served kinds are looked at when no CRD has changed: kinds of the API server itself come and go
/// with its restarts.
pub(crate) const DISCOVERY_INTERVAL: Duration = Duration::from_secs(60);
/// When the served kinds are looked at again after a CRD has changed: it is served some time after it is there.
pub(crate) const DISCOVERY_AFTER_CHANGE: [Duration; 7] = [
    Duration::ZERO,
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// Signals that are taken before a batch is handed on, so that a flood cannot keep it back.
pub(crate) const SIGNALS_AT_A_TIME: usize = 512;
/// Signals that wait to be taken; who would send more waits, and what it reads stays with the API server.
pub(crate) const SIGNALS_WAITING: usize = 1024;
