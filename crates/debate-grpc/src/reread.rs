//! Files that are read again when they change, so that tokens and certificates are replaced without a restart.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What tells one state of a file from the next without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Stamp {
    /// Returns the stamp of a file as it is.
    ///
    /// # Errors
    /// There is no such file, or it cannot be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        Ok(Self { modified: about.modified().ok(), bytes: about.len(), inode: inode(&about) })
    }
}

#[cfg(unix)]
fn inode(about: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    about.ino()
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
