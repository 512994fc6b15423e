//! Whether a process drives debates of a file: a lock of the system on a file next to it, which the system releases
//! however the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Says that this process drives debates of a SQLite file, until it is dropped; several processes may say so at once.
#[derive(Debug)]
pub struct DriverLock {
    _file: File,
}

impl DriverLock {
    /// Takes the lock of a store, which must be there.
    ///
    /// # Errors
    /// The lock's file cannot be made or locked.
    pub fn take(store: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path(store)?)?;
        // The look of `is_taken` has it for a moment alone.
        file.lock_shared()?;
        Ok(Self { _file: file })
    }

    /// Returns whether any process drives debates of a store.
    ///
    /// # Errors
    /// The lock's file cannot be looked at.
    pub fn is_taken(store: &Path) -> io::Result<bool> {
        let file = match File::open(path(store)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Returns the lock's file: one, by whatever name the store was opened.
fn path(store: &Path) -> io::Result<PathBuf> {
    let mut path = store.canonicalize()?.into_os_string();
    path.push(".driver");
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k24_driver_lock_is_shared_and_ends_with_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.db");
        File::create(&store).unwrap();
        assert!(!DriverLock::is_taken(&store).unwrap());
        let (one, other) = (DriverLock::take(&store).unwrap(), DriverLock::take(&store).unwrap());
        assert!(DriverLock::is_taken(&store).unwrap());
        drop(one);
        assert!(DriverLock::is_taken(&folder.path().join("../").join(&store)).unwrap());
        drop(other);
        assert!(!DriverLock::is_taken(&store).unwrap());
    }
}
