//! Counts tokens with a real tokenizer (o200k) and fits sections of text into a budget (P15).
//!
//! Never estimates: a count is what the tokenizer would produce. Providers with other vocabularies
//! count differently; budgets are stated in these tokens.

mod fit;
mod pieces;

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

pub use fit::{FitError, Fitted, Omission, Section, cut, fit};

use pieces::Pieces;

/// Pieces remembered at most; beyond it the memory starts anew.
const MEMORY_PIECES_MAX: usize = 1 << 16;

/// Longest piece remembered, in bytes. Words fit; longer ones are rare and counted each time.
const MEMORY_PIECE_BYTES_MAX: usize = 32;

/// Returns how many o200k tokens `text` is.
///
/// The first call in a process loads the vocabulary (see [`warm_up`]). The tokenizer splits a text
/// into words and encodes each on its own, so counts of words are remembered and the sum is exact.
pub fn count(text: &str) -> u32 {
    let mut total = 0;
    let mut unknown = Vec::new();
    {
        let memory = MEMORY.read().unwrap_or_else(PoisonError::into_inner);
        for piece in Pieces::of(text) {
            match memory.get(piece) {
                Some(tokens) => total += tokens,
                None => unknown.push(piece),
            }
        }
    }
    total + unknown.into_iter().map(count_unknown).sum::<u32>()
}

/// Loads the vocabulary now, so that the first prompt does not wait for it.
///
/// Takes a fraction of a second; meant for a thread that has nothing else to do.
pub fn warm_up() {
    pieces::warm_up();
    tiktoken_rs::o200k_base_singleton();
}

static MEMORY: LazyLock<RwLock<HashMap<Box<str>, u32, RandomState>>> = LazyLock::new(RwLock::default);

/// Returns the end of each piece in bytes, with its tokens; as many pieces as make more than `tokens_max`, or all.
fn lengths(text: &str, tokens_max: u32) -> Vec<(usize, u32)> {
    let mut lengths = Vec::new();
    let (mut end, mut total) = (0, 0);
    {
        let memory = MEMORY.read().unwrap_or_else(PoisonError::into_inner);
        for piece in Pieces::of(text) {
            if total > tokens_max {
                break;
            }
            end += piece.len();
            let tokens = memory.get(piece).copied();
            // An unknown piece is a token at least.
            total += tokens.unwrap_or(1);
            lengths.push((end, tokens));
        }
    }
    let mut start = 0;
    let known = lengths.into_iter().map(|(end, tokens)| {
        let tokens = tokens.unwrap_or_else(|| count_unknown(&text[start..end]));
        start = end;
        (end, tokens)
    });
    known.collect()
}

fn count_unknown(piece: &str) -> u32 {
    let encoded = tiktoken_rs::o200k_base_singleton().encode_ordinary(piece);
    let tokens = u32::try_from(encoded.len()).unwrap_or(u32::MAX);
    if piece.len() <= MEMORY_PIECE_BYTES_MAX {
        let mut memory = MEMORY.write().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= MEMORY_PIECES_MAX {
            memory.clear();
        }
        memory.insert(piece.into(), tokens);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(text: &str) -> u32 {
        u32::try_from(tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()).unwrap()
    }

    #[test]
    fn p15_counts_are_those_of_the_tokenizer() {
        for text in [
            "",
            " ",
            "Hello, world",
            "a  b   c\t\td\n\n  e \r\n f  ",
            "  \u{2009} x\u{a0}y\u{85}z",
            "It's John'S; we’ve 12345 items — 3.14159!",
            "中文字符 混合 English và tiếng Việt 👩‍👩‍👧‍👦",
            "fn main() { println!(\"{}\", 1_000); } // ///",
            "…",
        ] {
            assert_eq!(count(text), reference(text), "{text:?}");
            assert_eq!(count(text), reference(text), "again: {text:?}");
        }
    }

    #[test]
    fn the_ellipsis_of_a_cut_is_one_token() {
        assert_eq!(count("…"), 1);
        assert_eq!(count(" …"), 1);
    }

    #[test]
    fn p15_one_long_word_is_counted_in_bounded_time() {
        let word = "ab".repeat(100_000);
        assert_eq!(count(&word), reference(&word));
    }

    #[test]
    fn the_memory_of_words_is_bounded_and_exact_after_it_starts_anew() {
        for n in 0..(MEMORY_PIECES_MAX + 10) {
            count(&format!("q{}", letters(n)));
        }
        assert!(MEMORY.read().unwrap().len() <= MEMORY_PIECES_MAX);
        let text = "Counts are exact after the memory starts anew.";
        assert_eq!(count(text), reference(text));
    }

    fn letters(mut n: usize) -> String {
        let mut word = String::new();
        while n > 0 {
            word.push(char::from(b'a' + u8::try_from(n % 26).unwrap()));
            n /= 26;
        }
        word
    }

    proptest! {
        #[test]
        fn p15_counts_are_those_of_the_tokenizer_for_any_text(text in any::<String>()) {
            prop_assert_eq!(count(&text), reference(&text));
        }

        #[test]
        fn p15_blanks_and_breaks_are_counted_as_the_tokenizer_does(
            text in "[ \\t\\n\\r\u{a0}\u{2003}aB1',./é中]{0,40}",
        ) {
            prop_assert_eq!(count(&text), reference(&text));
            let ends = lengths(&text, u32::MAX);
            prop_assert_eq!(ends.last().map_or(0, |(end, _)| *end), text.len());
        }
    }
}
