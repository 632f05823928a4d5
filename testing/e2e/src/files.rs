//! Files as others change them.

use std::fs;
use std::path::Path;

/// Writes beside the file and renames, as deployment tools do.
pub fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}
