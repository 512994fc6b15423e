//! Files with words of debates: a new one is for its owner alone; one that was there stays for whom it was.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::exit::Failure;

/// Writes a file, in place of what was in it.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}
