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
    /// When its content, mode, owner or group changed, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file as it is.
    ///
    /// # Errors
    /// There is no such file, or it cannot be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        let (inode, changed) = beneath(&about);
        Ok(Self { modified: about.modified().ok(), bytes: about.len(), inode, changed })
    }
}

/// Which state of files was tried last, and why it is not in use if it is not.
#[derive(Debug)]
pub(crate) struct Tried<S> {
    state: S,
    failure: Option<String>,
}

impl<S: PartialEq> Tried<S> {
    /// Notes a state that is in use.
    pub(crate) const fn used(state: S) -> Self {
        Self { state, failure: None }
    }

    /// Returns whether files are to be read: they have changed, or cannot be used and are tried `anew`. What failed may
    /// have been the machine and not the files, and then nothing of them changes when it ends.
    pub(crate) fn is_due(&self, now: &S, anew: bool) -> bool {
        self.state != *now || (anew && self.failure.is_some())
    }

    /// Notes the result of reading a state. Returns whether it is news, so that each fault is logged once.
    pub(crate) fn note(&mut self, state: S, failure: Option<String>) -> bool {
        let is_news = self.state != state || self.failure != failure;
        *self = Self { state, failure };
        is_news
    }
}

#[cfg(unix)]
fn beneath(about: &fs::Metadata) -> (u64, (i64, i64)) {
    use std::os::unix::fs::MetadataExt as _;
    (about.ino(), (about.ctime(), about.ctime_nsec()))
}

#[cfg(not(unix))]
fn beneath(_: &fs::Metadata) -> (u64, (i64, i64)) {
    (0, (0, 0))
}
