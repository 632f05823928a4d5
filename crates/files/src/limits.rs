//! Every bound on what a file may be, with its unit and reason.

use std::time::Duration;

/// Bytes a single file may have: several times what 10,000 routes take, far below what would hurt.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Levels of nesting in a document; the deepest Gateway API object has fewer than 20.
pub(crate) const MAX_DEPTH: usize = 100;

/// Nodes that aliases and merge keys may add to one document (a "billion laughs" stops here);
/// go-yaml, and so kubectl, stops at about the same number.
pub(crate) const MAX_ALIAS_NODES: usize = 400_000;

/// Bytes of scalar text that count as one node against [`MAX_ALIAS_NODES`].
pub(crate) const BYTES_PER_NODE: usize = 64;

/// Events that follow each other within this time become one change.
pub(crate) const COALESCE: Duration = Duration::from_millis(5);

/// How long a file that somebody has open for writing must be silent before it is read anyway.
pub(crate) const SILENCE: Duration = Duration::from_millis(100);

/// Events without a removal among them are acted on when none has followed for this long: a removal may be
/// the first half of an editor's way of saving.
pub(crate) const QUIET: Duration = Duration::from_millis(1);

/// A file changed within this time may be changed again without its times showing it.
pub(crate) const FRESH: Duration = Duration::from_millis(100);

/// Folders within each other.
pub(crate) const MAX_FOLDERS: usize = 64;

/// How often paths are looked at when the operating system gives no notice of changes.
pub(crate) const POLL: Duration = Duration::from_secs(2);
