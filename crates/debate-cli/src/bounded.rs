//! Reading what may have no end.

use std::io::{self, Read};

/// Reads all there is, or nothing of what has more than so many bytes: then one more of them is read.
///
/// # Errors
/// Those of reading.
pub(crate) fn bounded(from: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What nobody may read.
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
