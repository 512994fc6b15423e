//! How long a reply may be, by an upper estimate of its tokens.

use std::borrow::Cow;

use crate::speech;

/// Returns about how many tokens a text is, rather too many than too few.
pub(super) fn tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut total, mut letters, mut digits) = (0, 0_usize, 0_usize);
    for (at, byte) in bytes.iter().copied().enumerate() {
        if byte.is_ascii_alphabetic() {
            letters += 1;
        } else if byte.is_ascii_digit() {
            digits += 1;
        } else {
            total += letters.div_ceil(7) + digits.div_ceil(3) + mark(byte, bytes.get(at + 1).copied());
            (letters, digits) = (0, 0);
        }
    }
    total + letters.div_ceil(7) + digits.div_ceil(3)
}

/// Returns about how many tokens a character is that is neither letter nor digit, by its first two bytes; nothing for
/// the bytes behind the first.
fn mark(byte: u8, next: Option<u8>) -> usize {
    match byte {
        b' ' | 0x80..=0xBF => 0,
        // General punctuation: dashes, quotation marks, the ellipsis.
        0xE2 if next == Some(0x80) => 1,
        // A straight quotation mark is escaped; a letter of many bytes is rare.
        b'"' | b'\\' | 0xE0.. => 2,
        _ => 1,
    }
}

/// Returns what a text takes of a reply's room: its tokens, or a quarter of its bytes where that is more, because
/// the simulated model is cut as if every token had four bytes.
pub(super) fn cost(text: &str) -> usize {
    tokens(text).max(text.len().div_ceil(speech::BYTES_PER_TOKEN))
}

/// Returns the beginning of a text: whole words, not more of them and not more tokens than given, with an ellipsis
/// where something is missing.
pub(super) fn clipped(text: &str, words_max: usize, tokens_max: usize) -> Cow<'_, str> {
    let beginning = beginning(text, words_max, tokens_max);
    if beginning.len() == text.trim().len() {
        return Cow::Borrowed(beginning);
    }
    Cow::Owned(format!("{}…", beginning.trim_end_matches(|letter: char| letter.is_ascii_punctuation())))
}

/// Returns the longest beginning of whole words within both limits; of a text without spaces, of whole characters.
pub(super) fn beginning(text: &str, words_max: usize, tokens_max: usize) -> &str {
    let text = text.trim();
    let mut end = 0;
    let mut spent = 0;
    for (count, word) in text.split(' ').enumerate() {
        let cost = tokens(word);
        if count >= words_max || spent + cost > tokens_max {
            break;
        }
        spent += cost;
        end += word.len() + usize::from(count > 0);
    }
    if end == 0 && words_max > 0 {
        // Each character of a script without spaces may be two tokens.
        end = text.char_indices().nth(tokens_max / 2).map_or(text.len(), |(at, _)| at);
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_has_whole_words_within_both_limits() {
        assert_eq!(beginning("one two three", 2, 99), "one two");
        assert_eq!(beginning("one two three", 9, 1), "one");
        assert_eq!(beginning(" one ", 9, 9), "one");
        assert_eq!(beginning("東京都庁前", 9, 4), "東京");
        assert_eq!(beginning("", 3, 3), "");
        assert_eq!(clipped("It rained, and how it rained", 2, 9), "It rained…");
        assert_eq!(clipped("It rained", 2, 9), "It rained");
    }
}
