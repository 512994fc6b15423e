//! Excerpts of foreign text for error messages.

/// The maximum length of an excerpt, in bytes: a few bytes of a bundle can unpack to a line of 64 MiB.
const BYTES_MAX: usize = 1_000;

/// Returns the beginning of a text of any length.
pub(crate) fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(BYTES_MAX)].to_owned()
}
