//! Reading what may have no end.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::exit::Failure;

/// Reads all there is, or nothing of what has more than so many bytes: then one more of them is read.
///
/// # Errors
/// Those of reading.
pub(crate) fn bounded(from: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// Bytes that a file of many entries may have: questions, cases, lines of what happened.
pub(crate) const ENTRIES_BYTES_MAX: u64 = 256 << 20;
/// Bytes that a file of one text may have: a key, a checkpoint, a prompt.
pub(crate) const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Reads a file of text.
///
/// # Errors
/// It cannot be read, is no text, or is longer than it may be.
pub(crate) fn text(path: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let name = path.display();
    let unread = |error: &dyn Display| Failure::bad_input(format!("cannot read {name}: {error}"));
    let bytes = File::open(path).and_then(|file| bounded(file, bytes_max)).map_err(|error| unread(&error))?;
    let bytes = bytes.ok_or_else(|| unread(&format_args!("it has more than {bytes_max} bytes")))?;
    String::from_utf8(bytes).map_err(|_| unread(&"it is not UTF-8"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A reader whose bytes must not be read.
    #[derive(Debug)]
    pub(crate) struct Beyond;

    impl Read for Beyond {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("it is read on"))
        }
    }

    #[test]
    fn d8_i10_of_a_file_without_end_no_more_is_read_than_it_may_have() {
        assert_eq!(bounded(b"Look..".chain(Beyond), 5).unwrap(), None);
        assert_eq!(bounded(&b"Look."[..], 5).unwrap().unwrap(), b"Look.");
    }
}
