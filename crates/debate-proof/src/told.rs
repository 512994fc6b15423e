//! What is told of others' words that are not what they should be.

/// How much of them is told, in bytes: a little of a bundle unpacks to a line of 64 MiB.
const BYTES_MAX: usize = 1_000;

/// Returns the beginning of what may be of any length.
pub(crate) fn beginning(words: &str) -> String {
    words[..words.floor_char_boundary(BYTES_MAX)].to_owned()
}
