//! How the models that are programs say a text: in pieces, never through a character.

use crate::ChunkSink;

/// How many bytes of English text one token holds, roughly; made-up usage is counted with it.
pub(crate) const BYTES_PER_TOKEN: usize = 4;

/// Returns the number of tokens that a made-up usage shows for a text of `bytes` bytes.
pub(crate) fn tokens_in(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// Returns the longest beginning of `text` that has at most `bytes_max` bytes.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Cuts `text` into pieces of about `bytes` bytes, at least one character each.
pub(crate) fn pieces(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (piece, after) = rest.split_at(rest.floor_char_boundary(bytes).max(first.len_utf8()));
        rest = after;
        Some(piece)
    })
}

/// Says the whole text at once, in pieces of about `bytes` bytes.
pub(crate) fn say(text: &str, bytes: usize, chunks: &mut dyn ChunkSink) {
    for piece in pieces(text, bytes) {
        chunks.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_joined_are_the_text_whatever_their_size() {
        let text = "a€é𝄞b — ende";
        for bytes in 0..20 {
            let cut: Vec<&str> = pieces(text, bytes).collect();
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|piece| !piece.is_empty() && piece.len() <= bytes.max(4)), "{bytes}");
        }
        assert_eq!((beginning(text, 2), beginning(text, 4), beginning(text, 99)), ("a", "a€", text));
    }
}
