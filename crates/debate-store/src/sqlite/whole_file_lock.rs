//! The lock where the system has none on ranges of a file for each opening: one process drives debates of a file.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use debate_core::envelope::StreamId;

/// A file next to the store, locked as a whole by the first process that drives a debate, until that process ends.
#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
    store: PathBuf,
    is_ours: AtomicBool,
}

impl FileLock {
    /// Opens the file of a store.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn open(store: &Path) -> io::Result<Self> {
        let store = store.canonicalize()?;
        let mut path = store.clone().into_os_string();
        path.push(".driver");
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: options.open(path)?, store, is_ours: AtomicBool::new(false) })
    }

    /// Locks all streams; `false` where another opening has them.
    ///
    /// # Errors
    /// The file cannot be locked.
    pub(super) fn try_lock(&self, _stream: StreamId) -> io::Result<bool> {
        if self.is_ours.load(Ordering::Acquire) {
            return Ok(true);
        }
        match self.file.try_lock() {
            Ok(()) => {
                self.is_ours.store(true, Ordering::Release);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Keeps the lock: other streams may need it.
    pub(super) fn unlock(&self, _stream: StreamId) {}

    /// Returns 0, an unknown process, where another opening has the lock.
    ///
    /// # Errors
    /// The file cannot be locked.
    pub(super) fn holder(&self, _stream: StreamId) -> io::Result<Option<u32>> {
        if self.is_ours.load(Ordering::Acquire) {
            return Ok(None);
        }
        match self.file.try_lock() {
            Ok(()) => self.file.unlock().map(|()| None),
            Err(TryLockError::WouldBlock) => Ok(Some(0)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns whether a path leads to the store.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path == self.store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::id::DebateId;
    use uuid::Uuid;

    #[test]
    fn k23_one_process_drives_where_ranges_cannot_be_locked() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.db");
        File::create(&store).unwrap();
        let stream = |number| DebateId(Uuid::from_u128(number)).into();
        let one = FileLock::open(&store).unwrap();
        let other = FileLock::open(&folder.path().join(".").join("a.db")).unwrap();
        assert_eq!(other.holder(stream(1)).unwrap(), None);
        assert!(one.try_lock(stream(1)).unwrap() && one.try_lock(stream(2)).unwrap());
        assert_eq!((other.holder(stream(1)).unwrap(), one.holder(stream(1)).unwrap()), (Some(0), None));
        assert!(!other.try_lock(stream(3)).unwrap() && other.is_at(&store));
        one.unlock(stream(1));
        drop(one);
        assert!(other.try_lock(stream(3)).unwrap());
    }
}
