//! Files with words of debates, or keys: a new one is for its owner alone; one that was there stays for whom it was.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::exit::Failure;

/// Returns how a file is opened for writing, so that one which that makes is for its owner alone.
pub(crate) fn to_write() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns how a file is made for its owner alone: nothing that is there is written into, nor what a link leads to.
pub(crate) fn new() -> OpenOptions {
    let mut options = to_write();
    options.create_new(true);
    options
}

/// Writes a file, in place of what was in it.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let opened = to_write().create(true).truncate(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}
