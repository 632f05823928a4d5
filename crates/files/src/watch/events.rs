//! What an event of the operating system means for a path.

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};

/// What has happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A file was made, and its contents may follow.
    MadeFile,
    /// A folder was made, and its contents may follow.
    MadeFolder,
    /// Somebody is writing.
    Written,
    /// Whoever wrote has closed, or a finished file or folder was moved here.
    Settled,
    /// Its rights or times have changed, or nobody knows what.
    Touched,
    /// It is gone.
    Removed,
}

impl Effect {
    /// The effect of an event, if it has one for us.
    pub(super) fn of(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Self::Settled),
            EventKind::Access(_) => None,
            EventKind::Create(CreateKind::Folder) => Some(Self::MadeFolder),
            EventKind::Create(_) => Some(Self::MadeFile),
            EventKind::Modify(ModifyKind::Data(_)) => Some(Self::Written),
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
                Some(Self::Removed)
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None, // From and To have been told
            EventKind::Modify(ModifyKind::Name(_)) => Some(Self::Settled),
            EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Self::Touched),
        }
    }
}
