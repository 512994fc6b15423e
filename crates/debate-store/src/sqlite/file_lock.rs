//! Locks of the system on a file itself, by whatever name it was opened: one for each stream, on a range of bytes far
//! behind the file's end. The system releases them however the process ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use debate_core::envelope::StreamId;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, flock};

/// Where the ranges begin: SQLite's files end before, and so do its own locks.
const BEGIN: i64 = 1 << 48;

/// Bits of a range's length, which is the id of the process that locks it: others read from it who has the lock.
const PROCESS_BITS: u32 = 23;

/// Bits of a stream's id that choose its range.
const STREAM_BITS: u32 = 39;

/// Which file: device and inode.
type Inode = (u64, u64);

/// Open files without locks, to be used again. None is closed as long as it has a name: a process that closes any opening
/// of a file loses the locks that SQLite has on it (fcntl, record locks).
static SPARE: LazyLock<Mutex<HashMap<Inode, Vec<File>>>> = LazyLock::new(Mutex::default);

/// A file, opened to lock ranges of it; locks of one opening keep out those of any other, of this process too.
#[derive(Debug)]
pub(super) struct FileLock {
    /// There until it is dropped.
    file: Option<File>,
    inode: Inode,
}

impl FileLock {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let inode = inode(&path.metadata()?);
        let mut spare = spare();
        spare.retain(|_, files| !files.iter().any(is_removed));
        if let Some(file) = spare.get_mut(&inode).and_then(Vec::pop) {
            return Ok(Self { file: Some(file), inode });
        }
        drop(spare);
        // A file that can only be read is never locked, but others may lock it.
        let file = File::options().read(true).write(true).open(path).or_else(|_| File::open(path))?;
        let inode = self::inode(&file.metadata()?);
        Ok(Self { file: Some(file), inode })
    }

    /// Locks the range of a stream; `false` where another opening has it.
    ///
    /// # Errors
    /// The system has no such locks, or no more of them.
    pub(super) fn try_lock(&self, stream: StreamId) -> io::Result<bool> {
        match self.set(libc::F_WRLCK, first(stream), process::id().into()) {
            Ok(()) => Ok(true),
            Err(Errno::EACCES | Errno::EAGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets go of the range of a stream.
    pub(super) fn unlock(&self, stream: StreamId) {
        // It cannot fail: the range is valid, and letting go of one that is not locked is no fault.
        let _unlocked = self.set(libc::F_UNLCK, first(stream), 1 << PROCESS_BITS);
    }

    /// Returns the process that locks the range of a stream by another opening.
    ///
    /// # Errors
    /// The system has no such locks.
    pub(super) fn holder(&self, stream: StreamId) -> io::Result<Option<u32>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut found = range(libc::F_WRLCK, first(stream), 1 << PROCESS_BITS);
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut found))?;
        let is_locked = i32::from(found.l_type) != libc::F_UNLCK;
        Ok(is_locked.then(|| u32::try_from(found.l_len).unwrap_or_default()))
    }

    /// Returns whether a path leads to the file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|about| inode(&about) == self.inode)
    }

    fn set(&self, kind: i32, first: i64, length: i64) -> Result<(), Errno> {
        let Some(file) = &self.file else { return Err(Errno::EBADF) };
        fcntl(file, FcntlArg::F_OFD_SETLK(&range(kind, first, length))).map(drop)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _unlocked = self.set(libc::F_UNLCK, BEGIN, 0);
        if let Some(file) = self.file.take() {
            match spare().entry(self.inode) {
                Entry::Occupied(mut files) => files.get_mut().push(file),
                Entry::Vacant(place) => drop(place.insert(vec![file])),
            }
        }
    }
}

fn spare() -> MutexGuard<'static, HashMap<Inode, Vec<File>>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a file has no name any more, so that no other process can open it.
fn is_removed(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.nlink() == 0)
}

fn inode(about: &Metadata) -> Inode {
    (about.dev(), about.ino())
}

/// Returns where the range of a stream begins.
fn first(stream: StreamId) -> i64 {
    let (high, low) = stream.id.as_u64_pair();
    let bits = (high ^ low) & ((1 << STREAM_BITS) - 1);
    BEGIN + (bits << PROCESS_BITS).cast_signed()
}

fn range(kind: i32, first: i64, length: i64) -> flock {
    flock {
        // The kinds are 0, 1 and 2.
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: first,
        l_len: length,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::id::DebateId;
    use uuid::Uuid;

    fn stream(number: u128) -> StreamId {
        DebateId(Uuid::from_u128(number)).into()
    }

    #[test]
    fn k23_a_range_has_one_holder_until_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let [store, link, hard, moved] =
            ["a.db", "link.db", "hard.db", "moved.db"].map(|name| folder.path().join(name));
        File::create(&store).unwrap();
        std::os::unix::fs::symlink(&store, &link).unwrap();
        std::fs::hard_link(&store, &hard).unwrap();
        let one = FileLock::open(&store).unwrap();
        assert!(one.try_lock(stream(1)).unwrap() && one.try_lock(stream(2)).unwrap());
        std::fs::rename(&store, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &store).unwrap();
        for path in [&link, &hard, &moved] {
            let other = FileLock::open(path).unwrap();
            assert!(!other.try_lock(stream(1)).unwrap(), "{path:?}");
            assert_eq!(other.holder(stream(2)).unwrap(), Some(process::id()));
            assert_eq!(other.holder(stream(3)).unwrap(), None);
            assert!(other.try_lock(stream(3)).unwrap() && other.is_at(path));
        }
        one.unlock(stream(1));
        let other = FileLock::open(&moved).unwrap();
        assert!(other.try_lock(stream(1)).unwrap() && !other.try_lock(stream(2)).unwrap());
        drop(one);
        assert!(other.try_lock(stream(2)).unwrap());
        std::fs::copy(&moved, folder.path().join("copy.db")).unwrap();
        let copy = FileLock::open(&folder.path().join("copy.db")).unwrap();
        assert!(copy.try_lock(stream(1)).unwrap() && !copy.is_at(&moved), "a copy is another store");
    }
}
